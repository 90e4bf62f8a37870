import type { AnyCodeWorkflow } from '../durable/define-workflow.ts';

/** The team's code workflows, a line each. */
export const workflows: readonly AnyCodeWorkflow[] = [];
