import { logger } from 'firebase-functions';
import type { RunnerEvent } from '../runner/runtime.ts';

/** One structured line for each event worth a reader’s time; ordinary progress is not logged. */
export function logRunnerEvent(event: RunnerEvent): void {
  switch (event.kind) {
    case 'step_ended':
      return;
    case 'attempt_failed':
      return logger.info('attempt failed', {
        ...where(event.step),
        attempt: event.step.attempt,
        code: event.error.code,
        message: event.error.message,
      });
    case 'attempt_lost':
      return logger.warn('attempt lost: its process died or was too slow', { ...where(event.step), attempt: event.step.attempt });
    case 'late_result':
      return logger.warn('a late result was not applied', { ...where(event.step), attempt: event.step.attempt });
    case 'limiter_failed':
      return logger.warn('a limit could not be asked; the step goes on without a place', {
        ...where(event.step),
        limit: event.limit,
        message: event.message,
      });
    case 'unreadable':
      return logger.error('the audit passed over a run that it cannot read', { path: event.path, message: event.message });
    case 'repaired':
      return logger.info('the reconciler attended', { what: event.what, path: event.path });
  }
}

function where(step: { accountId: string; runId: string; key: string }): object {
  return { account: step.accountId, run: step.runId, step: step.key };
}
