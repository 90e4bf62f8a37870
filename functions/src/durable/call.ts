import type { Json } from '../engine/json.ts';
import type { ErrorRecord } from '../model/errors.ts';
import type { DocumentData, RunOptions, StepContext, StepOptions, UndoContext } from './step-api.ts';
import type { StepTransaction } from './step-transaction.ts';

/** What performing a step means. */
export type Work =
  | { readonly kind: 'run'; readonly options: RunOptions; readonly fn: (context: StepContext) => unknown }
  | { readonly kind: 'transaction'; readonly options: StepOptions; readonly fn: (tx: StepTransaction) => unknown }
  /** Ends by time alone. The end is counted from the step's creation. */
  | { readonly kind: 'sleep'; readonly end: { readonly after: number } | { readonly at: number } }
  /** A registered step type does it. */
  | { readonly kind: 'type'; readonly options: StepOptions; readonly config: { readonly [field: string]: unknown }; readonly input: Json }
  | {
      readonly kind: 'document';
      readonly path: string;
      readonly predicate: (data: DocumentData) => boolean;
      readonly timeoutMs: number;
      readonly everyMs: number;
    }
  | { readonly kind: 'start_run'; readonly workflowId: string; readonly input: Json; readonly version: number | undefined };

/** How a recorded result reaches the code: most are handed over as they are. */
export interface Reading {
  value(json: Json): unknown;
  /** A value instead of an error, where a failure is an outcome (a rejection). */
  failure?(error: ErrorRecord): unknown;
}

export const asItIs: Reading = { value: (json) => json };

/** One call of a step. Made anew on each replay. */
export class Call {
  readonly key: string;
  readonly type: string;
  readonly work: Work;
  readonly reading: Reading;
  readonly promise: Promise<unknown>;
  readonly #resolve: (value: unknown) => void;
  readonly #reject: (error: Error) => void;
  /** Where in the code it stands; only where an error may have to name it. */
  readonly place: { readonly stack?: string } | undefined;
  state: 'pending' | 'settled' | 'abandoned' = 'pending';

  constructor(call: Pick<Call, 'key' | 'type' | 'work' | 'reading' | 'place'>) {
    this.key = call.key;
    this.type = call.type;
    this.work = call.work;
    this.reading = call.reading;
    this.place = call.place;
    ({ promise: this.promise, resolve: this.#resolve, reject: this.#reject } = Promise.withResolvers<unknown>());
  }

  /** `json` is the journal's own text: it needs no second check. */
  succeed(json: string): void {
    this.state = 'settled';
    try {
      this.#resolve(this.reading.value(JSON.parse(json) as Json));
    } catch (error) {
      this.#rejectQuietly(error instanceof Error ? error : new Error(String(error)));
    }
  }

  fail(record: ErrorRecord, failure: (record: ErrorRecord) => Error): void {
    this.state = 'settled';
    const value = this.reading.failure?.(record);
    if (value === undefined) this.#rejectQuietly(failure(record));
    else this.#resolve(value);
  }

  /** A failed step that nobody awaits (the loser of a race) must not end the process. */
  #rejectQuietly(reason: Error): void {
    this.promise.catch(() => undefined);
    this.#reject(reason);
  }
}

export interface Compensation {
  readonly key: string;
  readonly options: StepOptions;
  readonly fn: (context: UndoContext) => unknown;
}
