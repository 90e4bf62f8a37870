/** What code workflows are written against. */
export { BusinessException, NonRetryable, RetryAfter, StepFailed } from './errors.ts';
export { defineWorkflow } from './define-workflow.ts';
export type { CodeWorkflow, RunInfo, WorkflowContext, WorkflowSpec } from './define-workflow.ts';
export { triggers } from './triggers.ts';
export type { CreatedDocument, ScheduleOccurrence, Trigger } from './triggers.ts';
export type { StepApi, StepContext, UndoContext } from './step-api.ts';
export type { StepTransaction } from './step-transaction.ts';
