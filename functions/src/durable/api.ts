/** What code workflows are written against. */
export { BusinessException, NonRetryable, RetryAfter, StepFailed } from './errors.ts';
export { defineWorkflow } from './define-workflow.ts';
export type { CodeWorkflow, RunInfo, WorkflowContext, WorkflowSpec } from './define-workflow.ts';
export { secretText } from './secret-text.ts';
export { triggers } from './triggers.ts';
export type { CreatedDocument, ScheduleOccurrence, Trigger } from './triggers.ts';
export type { StepApi, StepContext, UndoContext } from './step-api.ts';
export type { StepTransaction } from './step-transaction.ts';
export { azureDevOps } from './connectors/azure-devops.ts';
export { github } from './connectors/github.ts';
export { shopify } from './connectors/shopify.ts';
export { standardWebhooks } from './connectors/standard-webhooks.ts';
export { stripe } from './connectors/stripe.ts';
