import type { AnyCodeWorkflow } from '../durable/define-workflow.ts';
import { copyToClickUp } from './copy-to-clickup.ts';
import { documentIntake } from './document-intake.ts';
import { orderFulfilment } from './order-fulfilment.ts';
import { subscriptionReminder } from './subscription-reminder.ts';

/** The team's code workflows, a line each. */
export const workflows: readonly AnyCodeWorkflow[] = [
  copyToClickUp, //
  documentIntake,
  orderFulfilment,
  subscriptionReminder,
];
