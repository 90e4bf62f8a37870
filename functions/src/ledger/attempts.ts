import type { ErrorRecord } from '../model/errors.ts';
import type { Attempt, StepRecord } from '../model/step.ts';

/** Time spent in attempts; waiting on people, events and timers does not count. */
export function activeTime(record: StepRecord, now: number): number {
  return record.attempts.reduce((sum, attempt) => sum + Math.max(0, (attempt.endedAt ?? now) - attempt.startedAt), 0);
}

/** Closes the attempt that is under way, if one is. */
export function closeAttempt(
  record: StepRecord,
  now: number,
  outcome: Attempt['outcome'],
  error?: ErrorRecord,
  nextAt?: number,
): Attempt[] {
  const last = record.attempts.at(-1);
  if (last === undefined || last.endedAt !== undefined) return record.attempts;
  // A lost attempt was active until its lease ended at the latest; nobody was there afterwards.
  const endedAt = outcome === 'lost' ? Math.min(now, record.lease?.until ?? now) : now;
  const closed: Attempt = {
    ...last,
    endedAt,
    outcome,
    ...(error === undefined ? {} : { error }),
    ...(nextAt === undefined ? {} : { nextAt }),
  };
  return [...record.attempts.slice(0, -1), closed];
}
