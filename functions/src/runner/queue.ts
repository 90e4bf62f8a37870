import { parseDuration } from '../engine/duration.ts';
import { digest } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import { resolveTemplates } from '../engine/templates.ts';
import { dueField } from '../ledger/due.ts';
import { findSlot } from '../ledger/limits.ts';
import type { FreeSlot, LimitUse } from '../ledger/limits.ts';
import { remove, StoreConflict } from '../ledger/store.ts';
import type { Snapshot, Write } from '../ledger/store.ts';
import { KilnError } from '../model/errors.ts';
import type { RunRecord } from '../model/run.ts';
import type { Declared } from './declared.ts';
import { runFacts } from './scope-reader.ts';
import type { Runtime } from './runtime.ts';

/** The key by which a doorbell means the run itself. No step has it: ids begin with a letter. */
export const RUN_KEY = '$run';

export type Turn =
  | { readonly kind: 'now'; readonly places: readonly FreeSlot[]; readonly held: readonly string[] }
  | { readonly kind: 'later'; readonly limit: string; readonly at: number };

/** How long a run's place is taken for granted; after that it is looked whether the run has ended. */
const RUN_HOLD_MS = 10 * 60_000;
const CONCURRENCY_WAIT_MS = { least: 2_000, spread: 8_000 };
const WAIT_MAX_MS = 60 * 60_000;

/** Whether the workflow's own limits let the run begin now. They cost nothing where none are declared. */
export async function turnOf(
  runtime: Runtime,
  run: RunRecord,
  { concurrency, rateLimit }: Pick<Declared, 'concurrency' | 'rateLimit'>,
  input: Json,
): Promise<Turn> {
  const { accountId, runId, workflowId } = run;
  const places: FreeSlot[] = [];
  const held: string[] = [];
  const now = runtime.clock.now();
  if (concurrency !== undefined) {
    const name = `run.${workflowId}${concurrency.key === undefined ? '' : `.${keyOf(concurrency.key, run, input)}`}`;
    const use: LimitUse = { accountId, name, count: concurrency.limit, kind: 'run', holder: runId, holdMs: RUN_HOLD_MS };
    const slot = await findSlot(runtime, use);
    // Nobody knows when a run ends.
    if (slot.path === undefined) return { kind: 'later', limit: 'concurrency', at: after(runtime, now, CONCURRENCY_WAIT_MS) };
    places.push(slot);
    held.push(slot.path);
  }
  if (rateLimit !== undefined) {
    const holdMs = parseDuration(rateLimit.per, 'rateLimit.per');
    const use: LimitUse = { accountId, name: `rate.${workflowId}`, count: rateLimit.limit, kind: 'window', holder: runId, holdMs };
    const slot = await findSlot(runtime, use);
    if (slot.path === undefined) {
      const from = Math.min(Math.max(slot.freeAt, now), now + WAIT_MAX_MS);
      return { kind: 'later', limit: 'rateLimit', at: after(runtime, from, { least: 1, spread: 1_000 }) };
    }
    places.push(slot);
  }
  return { kind: 'now', places, held };
}

/** Runs with the same key share the limit. The key is any text, so its digest names the limit. */
function keyOf(template: string, run: RunRecord, input: Json): string {
  const lookup = (root: string): Json | undefined => (root === 'workflow_input' ? input : root === 'run' ? runFacts(run) : undefined);
  const value = resolveTemplates(template, (reference) => lookup(reference.root), { keepSecrets: false });
  if (typeof value === 'object') throw new KilnError('request.invalid', 'concurrency.key is filled in with something that is no text');
  return digest(String(value)).slice(0, 20);
}

function after(runtime: Runtime, from: number, wait: { readonly least: number; readonly spread: number }): number {
  return Math.round(from + wait.least + runtime.random() * wait.spread);
}

/** The run stays pending, and is looked at again. */
export async function queueRun(
  runtime: Runtime,
  run: RunRecord,
  snapshot: Snapshot,
  turn: Extract<Turn, { kind: 'later' }>,
): Promise<void> {
  await runtime.doorbells.arm({ accountId: run.accountId, runId: run.runId, key: RUN_KEY }, turn.at, 0);
  const data = { queuedFor: turn.limit, due: dueField(run.runId, turn.at) };
  try {
    await runtime.store.commit([{ op: 'update', path: snapshot.path, data, ifUpdateTime: snapshot.updateTime }]);
  } catch (error) {
    // Somebody else looked at it meanwhile.
    if (!(error instanceof StoreConflict)) throw error;
  }
}

/** The first writes with the places that the run takes, in one commit: there is never a place without its run, nor the reverse. */
export function withPlaces(writes: readonly Write[], runPath: string, turn: Extract<Turn, { kind: 'now' }>): readonly Write[] {
  if (turn.places.length === 0) return writes;
  const marked = amended(writes, runPath, { queuedFor: remove, ...(turn.held.length === 0 ? {} : { slots: turn.held }) });
  return [...marked, ...turn.places.map((place) => place.write)];
}

/** The same for a run that is created under way. */
export function createdWithPlaces(
  writes: readonly Write[],
  runPath: string,
  { places, held }: Extract<Turn, { kind: 'now' }>,
): readonly Write[] {
  const marked = held.length === 0 ? writes : amended(writes, runPath, { slots: held });
  return [...marked, ...places.map((place) => place.write)];
}

/** The same writes, with more fields where the run is written. */
export function amended(writes: readonly Write[], runPath: string, fields: object): readonly Write[] {
  return writes.map((write) =>
    (write.op === 'update' || write.op === 'create') && write.path === runPath ? { ...write, data: { ...write.data, ...fields } } : write,
  );
}
