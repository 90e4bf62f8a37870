import { canonicalJson, parseJson } from '../engine/json.ts';
import { BusinessException, KilnError, toErrorRecord } from '../model/errors.ts';
import type { ErrorClass, ErrorRecord } from '../model/errors.ts';

export { BusinessException };

/** Thrown inside a step: trying again cannot help. */
export class NonRetryable extends Error {
  override readonly name = 'NonRetryable';
  readonly data: unknown;

  constructor(message: string, data?: unknown) {
    super(message);
    this.data = data;
  }
}

/** Thrown inside a step: try again, but not before a date, or a number of seconds from now. */
export class RetryAfter extends Error {
  override readonly name = 'RetryAfter';
  readonly when: Date | number;

  constructor(when: Date | number, message = 'the target asked to wait') {
    super(message);
    this.when = when;
  }

  /** Milliseconds to wait; undefined where the time is not usable, so that the usual backoff holds. */
  delayMs(now: number): number | undefined {
    const ms = this.when instanceof Date ? this.when.getTime() - now : this.when * 1_000;
    return Number.isFinite(ms) && ms > 0 ? ms : undefined;
  }
}

/** What `await step.…` throws when the step has failed for good. The same when it fails and on every replay. */
export class StepFailed extends Error {
  override readonly name = 'StepFailed';
  readonly step: string;
  readonly code: string;
  readonly class: ErrorClass;
  readonly data: unknown;

  constructor(step: string, record: ErrorRecord) {
    super(record.message);
    this.step = step;
    this.code = record.code;
    this.class = record.class;
    this.data = record.data;
  }
}

/**
 * What a step's own code threw, as it is stored. Any other error than those with a meaning of their own is tried again: a step
 * that must not be repeated says so by NonRetryable, or `idempotent: false`.
 */
export function stepErrorRecord(thrown: unknown, now: number): ErrorRecord {
  if (thrown instanceof NonRetryable) {
    return storable({
      code: 'step.failed',
      class: 'not_retryable',
      message: thrown.message,
      ...(thrown.data === undefined ? {} : { data: thrown.data }),
    });
  }
  if (thrown instanceof RetryAfter) {
    const retryAfterMs = thrown.delayMs(now);
    return { code: 'step.failed', class: 'retryable', message: thrown.message, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  }
  if (thrown instanceof StepFailed) return recordOf(thrown);
  const record = toErrorRecord(thrown);
  const known = thrown instanceof KilnError || thrown instanceof BusinessException;
  return storable(known ? record : { ...record, class: 'retryable' });
}

/** What the run function threw, as it is stored on the run. */
export function runErrorRecord(thrown: unknown): ErrorRecord {
  if (thrown instanceof StepFailed) return recordOf(thrown);
  const record = toErrorRecord(thrown);
  return storable(record.code === 'step.failed' ? { ...record, code: 'code.threw' } : record);
}

/** The error that a failed step's promise is rejected with. */
export function stepFailure(step: string, record: ErrorRecord): Error {
  return record.class === 'business' ? new BusinessException(record.code, record.data, record.message) : new StepFailed(step, record);
}

function recordOf(thrown: StepFailed): ErrorRecord {
  return storable({
    code: thrown.code,
    class: thrown.class,
    message: thrown.message,
    ...(thrown.data === undefined ? {} : { data: thrown.data }),
  });
}

/** The record with its data as plain JSON. What JSON or the database cannot carry (lists in lists) becomes text. */
function storable(record: ErrorRecord): ErrorRecord {
  if (record.data === undefined) return record;
  try {
    const text = canonicalJson(record.data);
    return { ...record, data: text.includes('[[') || text.includes(',[') ? text : parseJson(text) };
  } catch {
    const { data: _unsupported, ...rest } = record;
    return rest;
  }
}
