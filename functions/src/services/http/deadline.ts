import { KilnError } from '../../model/errors.ts';

/** One signal out of a time limit and the caller's own signal, which remembers which of the two fired. */
export interface Deadline {
  readonly signal: AbortSignal;
  readonly timedOut: boolean;
  readonly timeoutMs: number;
}

export function deadline(timeoutMs: number, signal?: AbortSignal): Deadline {
  const timer = AbortSignal.timeout(timeoutMs);
  return {
    signal: signal === undefined ? timer : AbortSignal.any([timer, signal]),
    timeoutMs,
    get timedOut() {
      return timer.aborted && signal?.aborted !== true;
    },
  };
}

/** The error for a call that was stopped from our side before it could take effect, or whose repetition is harmless. */
export function stoppedError(limit: Deadline, what: string): KilnError {
  if (limit.timedOut)
    return new KilnError('step.timeout', `${what} took longer than ${limit.timeoutMs} ms.`, { data: { timeoutMs: limit.timeoutMs } });
  const reason: unknown = limit.signal.reason;
  return reason instanceof KilnError ? reason : new KilnError('run.cancelled', `${what} was stopped.`, { cause: reason });
}

/** Waits for work that cannot be stopped itself, until it is done or the signal fires; then rejects with the signal's reason. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
