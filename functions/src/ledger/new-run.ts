import { definitionLimits } from '../model/definition.ts';
import { KilnError } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import type { RunRecord, StartedBy } from '../model/run.ts';
import { dueField } from './due.ts';
import { digest } from '../engine/json.ts';
import { starterTag } from '../engine/tags.ts';
import { runTraceparent } from '../engine/trace-context.ts';
import { storePayload } from './payloads.ts';
import { startEntry } from './run-history.ts';
import { ATTEND_WITHIN_MS } from './steps.ts';
import type { Write } from './store.ts';

export interface NewRun {
  readonly accountId: string;
  readonly runId: string;
  readonly workflowId: string;
  readonly pinned: { readonly kind: 'graph' | 'code'; readonly version: number; readonly hash: string };
  /** Canonical JSON text. */
  readonly input: string;
  readonly startedBy: StartedBy;
  readonly chainDepth?: number;
  readonly parent?: { readonly runId: string; readonly stepKey: string };
  readonly forkedFrom?: NonNullable<RunRecord['forkedFrom']>;
  readonly inputFrom?: RunRecord['inputFrom'];
  readonly startKey?: string;
  readonly tainted?: boolean;
  /** What the workflow, or the step that starts it, says of its input. */
  readonly sensitive?: 'input' | 'run' | undefined;
  readonly traceparent?: string;
  readonly now: number;
}

const REQUESTED = 'request:';

/** The start key of a run that a member asked for by a document. */
export function requestKey(requestId: string): string {
  return `${REQUESTED}${requestId}`;
}

export function requestOf({ startKey }: Pick<RunRecord, 'startKey'>): string | undefined {
  return startKey?.startsWith(REQUESTED) === true ? startKey.slice(REQUESTED.length) : undefined;
}

/** Where it is remembered which run a key has started. */
export function startKeyPath({ accountId, workflowId }: Pick<NewRun, 'accountId' | 'workflowId'>, startKey: string): string {
  return paths.startKey(accountId, digest(`${workflowId}/${startKey}`));
}

/** The documents of a new run. Creating them is all that a start does: the run's own creation trigger does the rest. The run comes first. */
export function newRunWrites(start: NewRun): readonly Write[] {
  const depth = start.chainDepth ?? 0;
  if (depth > definitionLimits.maxChainDepth) {
    throw new KilnError(
      'run.too_deep',
      `"${start.workflowId}" would be run number ${depth} of a chain; ${definitionLimits.maxChainDepth} is the limit`,
    );
  }
  const ref = { accountId: start.accountId, runId: start.runId };
  const stored = storePayload(ref, '$input', start.input, start.sensitive === undefined ? undefined : { sensitive: true });
  const record: RunRecord = {
    v: 1,
    ...ref,
    kind: start.pinned.kind,
    workflowId: start.workflowId,
    version: start.pinned.version,
    hash: start.pinned.hash,
    status: 'pending',
    pendingApprovals: 0,
    input: stored.payload,
    startedBy: start.startedBy,
    createdAt: start.now,
    tags: [starterTag(start.startedBy)],
    chainDepth: depth,
    ...(start.parent === undefined ? {} : { parent: start.parent }),
    ...(start.forkedFrom === undefined ? {} : { forkedFrom: start.forkedFrom }),
    ...(start.inputFrom === undefined ? {} : { inputFrom: start.inputFrom }),
    ...(start.startKey === undefined ? {} : { startKey: start.startKey }),
    ...(start.tainted === undefined ? {} : { tainted: start.tainted }),
    ...(start.sensitive === 'run' ? { sensitive: 'run' as const } : {}),
    traceparent: runTraceparent(ref, start.traceparent),
    due: dueField(start.runId, start.now + ATTEND_WITHIN_MS),
  };
  return [{ op: 'create', path: paths.run(ref.accountId, ref.runId), data: record }, ...stored.writes, startEntry(record, start.now)];
}
