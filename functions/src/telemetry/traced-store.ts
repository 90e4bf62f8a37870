import type { Query, Store, Transaction, Write } from '../ledger/store.ts';
import { runRecordSchema, terminalRunStatuses } from '../model/run.ts';
import type { RunStatus } from '../model/run.ts';
import { isLive, stepRecordSchema, stepStates } from '../model/step.ts';
import type { StepState } from '../model/step.ts';
import { runSpan, stepSpans } from './spans.ts';
import type { SpanData } from './spans.ts';

/** Sends spans away. Failing is its own affair: whatever depends on a run does not depend on its telemetry. */
export interface SpanSink {
  send(spans: readonly SpanData[]): Promise<void>;
}

const stepPattern = /^accounts\/[^/]+\/runs\/[^/]+\/steps\/[^/]+$/;
const runPattern = /^accounts\/[^/]+\/runs\/[^/]+$/;
/** Documents read back at once to make spans of them. */
const READ_PAGE = 100;

/**
 * Notices which steps and runs end in what this process commits, whoever ends them: attempts, decisions, events, commands. Their
 * spans are made afterwards from the documents themselves. Only put around the store where traces are wanted.
 */
export class TracedStore implements Store {
  readonly #store: Store;
  readonly #sink: SpanSink;
  #ended: string[] = [];

  constructor(store: Store, sink: SpanSink) {
    this.#store = store;
    this.#sink = sink;
  }

  get: Store['get'] = (paths) => this.#store.get(paths);
  query: Store['query'] = (query) => this.#store.query(query);

  commit: Store['commit'] = async (writes) => {
    const result = await this.#store.commit(writes);
    this.#note(writes);
    return result;
  };

  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    let writes: Write[] = [];
    const result = await this.#store.transaction((tx) => {
      writes = [];
      return work({
        get: (paths: readonly string[]) => tx.get(paths),
        query: (query: Query) => tx.query(query),
        write: (write: Write) => {
          writes.push(write);
          tx.write(write);
        },
      });
    });
    this.#note(writes);
    return result;
  }

  #note(writes: readonly Write[]): void {
    for (const write of writes) if (ends(write)) this.#ended.push(write.path);
  }

  /** Makes and sends the spans of what has ended since the last call. Awaited before a handler returns: afterwards nothing runs. */
  async flush(): Promise<void> {
    const ended = this.#ended;
    this.#ended = [];
    for (let from = 0; from < ended.length; from += READ_PAGE) {
      try {
        const { docs } = await this.#store.get(ended.slice(from, from + READ_PAGE));
        const spans = docs.flatMap((doc): readonly SpanData[] => {
          if (doc === undefined) return [];
          if (stepPattern.test(doc.path)) return stepSpans(stepRecordSchema.parse(doc.data));
          const span = runSpan(runRecordSchema.parse(doc.data));
          return span === undefined ? [] : [span];
        });
        if (spans.length > 0) await this.#sink.send(spans);
      } catch {
        // Traces are best effort: the run has been recorded, only its picture is missing.
      }
    }
  }
}

function ends(write: Write): boolean {
  if (write.op !== 'update') return false;
  if (stepPattern.test(write.path)) {
    const state = 'state' in write.data ? (write.data.state as StepState) : undefined;
    return state !== undefined && stepStates.includes(state) && !isLive(state);
  }
  return runPattern.test(write.path) && 'status' in write.data && terminalRunStatuses.has(write.data.status as RunStatus);
}
