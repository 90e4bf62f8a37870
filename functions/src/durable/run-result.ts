import { runRecordSchema, terminalRunStatuses } from '../model/run.ts';
import type { RunRecord, RunStatus } from '../model/run.ts';
import type { Payload } from '../model/payload.ts';

/** A run, with the type of its output. */
export interface RunHandle<O = unknown> {
  readonly accountId: string;
  readonly runId: string;
  /** Never has a value. */
  readonly output?: O;
}

export type RunResult<O> =
  /** Not over; for a person to see, not to decide by. */
  | { readonly state: 'live'; readonly status: RunStatus; readonly businessState: string | undefined }
  | { readonly state: 'completed'; readonly output: O }
  /** Ended otherwise: failed, cancelled, rejected or compensated. */
  | { readonly state: 'ended'; readonly status: RunStatus; readonly error: RunRecord['error'] };

/** What a run's document says. `load` reads an output that is stored apart. */
export async function runResult<O>(data: unknown, load: (payload: Payload) => Promise<string>): Promise<RunResult<O>> {
  const run = runRecordSchema.parse(data);
  if (run.status === 'completed') {
    const text = run.output === undefined ? 'null' : (run.output.json ?? (await load(run.output)));
    return { state: 'completed', output: JSON.parse(text) as O };
  }
  if (terminalRunStatuses.has(run.status)) return { state: 'ended', status: run.status, error: run.error };
  return { state: 'live', status: run.status, businessState: run.businessState };
}

/** Tells of changes to a document until the returned function is called. */
export type Listen = (path: string, changed: (data: unknown) => void, failed: (error: Error) => void) => () => void;

export interface Watcher<O> {
  readonly changed: (result: RunResult<O>) => void;
  readonly failed?: (error: Error) => void;
}

/** Watches a run until it has ended. The returned function stops earlier. */
export function watchRun<O>(listen: Listen, path: string, load: (payload: Payload) => Promise<string>, watcher: Watcher<O>): () => void {
  let open = true;
  let stop: () => void = () => undefined;
  const close = (): void => {
    open = false;
    stop();
  };
  const failed = (error: Error): void => {
    if (open) watcher.failed?.(error);
    close();
  };
  stop = listen(
    path,
    (data) => {
      if (data === undefined) return;
      runResult<O>(data, load).then(
        (result) => {
          if (!open) return;
          if (result.state !== 'live') close();
          watcher.changed(result);
        },
        (error: unknown) => failed(error instanceof Error ? error : new Error(String(error))),
      );
    },
    failed,
  );
  // The listener may have told of the end before it was known how to stop it.
  if (!open) stop();
  return close;
}
