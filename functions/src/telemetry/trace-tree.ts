import { byteLength } from '../engine/json.ts';
import type { Store } from '../ledger/store.ts';
import { paths } from '../model/paths.ts';
import type { RunRecord } from '../model/run.ts';
import type { StepRecord } from '../model/step.ts';
import { ownerOf } from './spans.ts';

/** How a run went, put together after its end: what the inspector shows at a glance, and what is exported. */
export interface TraceTree {
  readonly runId: string;
  readonly workflowId: string;
  readonly version: number;
  readonly status: string;
  readonly createdAt: number;
  readonly startedAt?: number | undefined;
  readonly endedAt?: number | undefined;
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  readonly steps: readonly TraceNode[];
  /** Steps of the run; more than there are nodes when some are left out. */
  readonly total: number;
}

export interface TraceNode {
  readonly key: string;
  readonly type: string;
  readonly state: string;
  readonly createdAt: number;
  readonly startedAt?: number | undefined;
  readonly endedAt?: number | undefined;
  readonly waitedFor?: string | undefined;
  readonly attempts?: readonly TraceAttempt[];
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  readonly steps?: readonly TraceNode[];
  /** Steps inside that are left out: the middle of long loops. */
  readonly omitted?: number;
}

interface TraceAttempt {
  readonly n: number;
  readonly startedAt: number;
  readonly endedAt?: number | undefined;
  readonly outcome?: string | undefined;
  readonly code?: string | undefined;
}

/** Of what stands side by side: the first ones, the last ones, and everything that failed. */
const FIRST = 60;
const LAST = 20;
const FAILED = 100;
const MESSAGE_CHARS = 300;
const TREE_MAX_BYTES = 900_000;

export function traceTree(run: RunRecord, steps: readonly StepRecord[], most = FIRST + LAST): TraceTree {
  const children = new Map<string, StepRecord[]>();
  for (const step of steps) {
    const owner = ownerOf(step.key) ?? '';
    const list = children.get(owner);
    if (list === undefined) children.set(owner, [step]);
    else list.push(step);
  }
  const nodesIn = (owner: string): { readonly nodes: readonly TraceNode[]; readonly omitted: number } => {
    const all = (children.get(owner) ?? []).sort((a, b) => a.createdAt - b.createdAt || a.seq - b.seq || (a.key < b.key ? -1 : 1));
    const kept = shown(all, most);
    return { nodes: kept.map((step) => nodeOf(step, nodesIn(step.key))), omitted: all.length - kept.length };
  };
  const { runId, workflowId, version, status, createdAt, startedAt, endedAt, error } = run;
  return {
    runId,
    workflowId,
    version,
    status,
    createdAt,
    startedAt,
    endedAt,
    error: brief(error),
    steps: nodesIn('').nodes,
    total: steps.length,
  };
}

function shown(all: readonly StepRecord[], most: number): readonly StepRecord[] {
  if (all.length <= most) return all;
  const first = Math.ceil((most * FIRST) / (FIRST + LAST));
  let failed = 0;
  return all.filter((step, i) => i < first || i >= all.length - (most - first) || (step.state === 'failed' && (failed += 1) <= FAILED));
}

function nodeOf(step: StepRecord, inside: { readonly nodes: readonly TraceNode[]; readonly omitted: number }): TraceNode {
  const { key, type, state, createdAt, startedAt, endedAt, wait, attempts, error } = step;
  return {
    key,
    type,
    state,
    createdAt,
    startedAt,
    endedAt,
    waitedFor: wait?.kind,
    ...(attempts.length === 0 ? {} : { attempts: attempts.map(({ error: cause, ...attempt }) => ({ ...attempt, code: cause?.code })) }),
    error: brief(error),
    ...(inside.nodes.length === 0 ? {} : { steps: inside.nodes }),
    ...(inside.omitted === 0 ? {} : { omitted: inside.omitted }),
  };
}

function brief(error: { readonly code: string; readonly message: string } | undefined): TraceTree['error'] {
  return error === undefined ? undefined : { code: error.code, message: error.message.slice(0, MESSAGE_CHARS) };
}

/** Stores the tree below the run, as text: `runs/{id}/trace/tree`. What does not fit is left out further. */
export async function storeTree(store: Store, run: RunRecord, steps: readonly StepRecord[]): Promise<void> {
  for (let most = FIRST + LAST; most >= 1; most = Math.floor(most / 4)) {
    const json = JSON.stringify(traceTree(run, steps, most));
    if (byteLength(json) > TREE_MAX_BYTES) continue;
    const data = { v: 1, json, ...(run.expiresAt === undefined ? {} : { expiresAt: run.expiresAt }) };
    await store.commit([{ op: 'set', path: paths.trace(run.accountId, run.runId), data }]);
    return;
  }
}
