import { childLists, framePrefix, isCondition, isLoop, isParallel, placeOf } from '../engine/definition-index.ts';
import type { DefinitionIndex } from '../engine/definition-index.ts';
import { canonicalJson, parseJson } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import { loadPayload } from '../ledger/payloads.ts';
import type { Held } from '../ledger/steps.ts';
import type { Outcome } from '../ledger/transitions.ts';
import { KilnError, errorRecordSchema, toErrorRecord } from '../model/errors.ts';
import type { ErrorCode, ErrorRecord } from '../model/errors.ts';
import type { ConditionStep, StepConfig } from '../model/definition.ts';
import { paths } from '../model/paths.ts';
import { stepRecordSchema } from '../model/step.ts';
import type { StepRecord } from '../model/step.ts';
import type { Runtime } from './runtime.ts';
import { outputOf } from './scope-reader.ts';

/** Documents fetched at once while gathering: bounds memory and message size. */
const PAGE = 250;

type LaneResult =
  { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly error: ErrorRecord; readonly stepKey: string };

/** Collects what the lanes of a container ended with, and decides how the container ends. */
export async function gather(runtime: Runtime, join: Held, owner: Held, index: DefinitionIndex): Promise<Outcome> {
  const place = placeOf(index, owner.record.stepId);
  try {
    if (isLoop(place.step)) return await gatherLoop(runtime, join, owner, place.step.steps, place.step.collect !== 'none');
    if (isParallel(place.step)) return await gatherBranches(runtime, join, owner, index);
    throw new KilnError('internal', `"${place.step.id}" has no lanes`);
  } catch (error) {
    if (error instanceof KilnError && error.code !== 'internal') return { kind: 'failed', error: toErrorRecord(error) };
    throw error;
  }
}

async function gatherLoop(runtime: Runtime, join: Held, owner: Held, body: readonly StepConfig[], collect: boolean): Promise<Outcome> {
  const ownerKey = owner.record.key;
  if (join.record.join?.reason === 'failed') {
    return { kind: 'failed', error: laneError('step.iteration_failed', await causeOf(runtime, join)) };
  }
  const input = owner.record.input;
  const count = input === undefined ? 0 : (parseJson(await loadPayload(runtime.store, owner.record, input)) as Json[]).length;
  if (!collect) return { kind: 'succeeded', output: canonicalJson({ count }) };
  const scopes = Array.from({ length: count }, (_, i) => ({ scope: `${ownerKey}[${i}]`, prefix: `${ownerKey}[${i}].`, list: body }));
  const results = await laneResults(runtime, owner, scopes);
  return {
    kind: 'succeeded',
    output: canonicalJson(results.map((result) => (result.ok ? result.value : { error: briefError(result.error) }))),
  };
}

async function gatherBranches(runtime: Runtime, join: Held, owner: Held, index: DefinitionIndex): Promise<Outcome> {
  const { record } = owner;
  const step = placeOf(index, record.stepId).step;
  if (!isParallel(step)) throw new KilnError('internal', `"${step.id}" is no parallel`);
  const policy = step.policy ?? 'settled';
  if (join.record.join?.reason === 'failed') {
    return { kind: 'failed', error: laneError('step.branch_failed', await causeOf(runtime, join)) };
  }
  const names = Object.keys(step.branches);
  const winner = join.record.join?.reason === 'succeeded' ? names[join.record.join.lane] : undefined;
  const wanted = winner === undefined ? names : [winner];
  const scopes = childLists(step).flatMap(({ frame, list }) =>
    frame.part === 'branch' && wanted.includes(frame.name)
      ? [{ scope: `${record.key}.${frame.name}`, prefix: framePrefix(frame, record.key, record.loops), list }]
      : [],
  );
  const results = await laneResults(runtime, owner, scopes);
  const named = wanted.map((name, i) => [name, results[i]] as const);
  if (winner !== undefined) {
    const first = results[0];
    return { kind: 'succeeded', output: canonicalJson({ branch: winner, value: first?.ok === true ? first.value : null }) };
  }
  if (policy === 'any') {
    const messages = named.map(([name, result]) => `${name}: ${result?.ok === false ? result.error.message : 'no result'}`);
    return { kind: 'failed', error: toErrorRecord(new KilnError('step.branch_failed', `every branch failed: ${messages.join('; ')}`)) };
  }
  const settled = named.map(([name, result]): [string, Json] => {
    if (policy === 'all') return [name, result?.ok === true ? result.value : null];
    if (result?.ok === true) return [name, { status: 'fulfilled', value: result.value }];
    return [name, { status: 'rejected', reason: result === undefined ? null : briefError(result.error) }];
  });
  return { kind: 'succeeded', output: canonicalJson(Object.fromEntries(settled)) };
}

interface LaneScope {
  readonly scope: string;
  readonly prefix: string;
  readonly list: readonly StepConfig[];
}

/** The result of each scope: the output of the last thing done in it; or its recorded failure. */
async function laneResults(runtime: Runtime, owner: Held, scopes: readonly LaneScope[]): Promise<LaneResult[]> {
  const results: (LaneResult | undefined)[] = scopes.map(() => undefined);
  for (let from = 0; from < scopes.length; from += PAGE) {
    const page = scopes.slice(from, from + PAGE);
    const found = await pageResults(runtime, owner, page);
    found.forEach((result, i) => (results[from + i] = result));
  }
  return results.map(
    (result, i) =>
      result ?? { ok: false, error: toErrorRecord(new KilnError('internal', `no result of ${scopes[i]?.scope ?? '?'}`)), stepKey: '' },
  );
}

interface Candidate {
  readonly key: string;
  readonly step: StepConfig;
}

/** Where a scope's last output may be: the first candidate that ran has it, or leads to it. */
interface Search {
  readonly slot: number;
  readonly candidates: readonly Candidate[];
  /** How many of them to read: the likeliest one first. */
  readonly reads: number;
}

async function pageResults(runtime: Runtime, owner: Held, page: readonly LaneScope[]): Promise<(LaneResult | undefined)[]> {
  const { accountId, runId } = owner.record;
  const results: (LaneResult | undefined)[] = page.map(() => undefined);
  let searches: Search[] = page.map(({ prefix, list }, slot) => ({ slot, candidates: lastFirst(prefix, list), reads: 1 }));
  while (searches.length > 0) {
    const wanted = searches.flatMap(({ candidates, reads }) => candidates.slice(0, reads));
    const { docs } = await runtime.store.get(wanted.map(({ key }) => paths.step(accountId, runId, key)));
    const found = new Map(docs.flatMap((doc, i) => (doc === undefined ? [] : [[wanted[i]?.key, doc] as const])));
    const deeper: Search[] = [];
    for (const { slot, candidates, reads } of searches) {
      const last = candidates.slice(0, reads).find(({ key }) => found.has(key));
      const doc = last === undefined ? undefined : found.get(last.key);
      if (last === undefined || doc === undefined) {
        const rest = candidates.slice(reads);
        if (rest.length > 0) deeper.push({ slot, candidates: rest, reads: rest.length });
        continue;
      }
      const record = stepRecordSchema.parse(doc.data);
      const output = await outputOf(runtime.store, record);
      if (output !== undefined) results[slot] = { ok: true, value: output };
      const inner = inside(last, record, output);
      if (inner !== undefined) deeper.push({ slot, ...inner });
    }
    searches = deeper;
  }
  const marks = await runtime.store.get(page.map(({ scope }) => paths.join(accountId, runId, `${scope}:failed`)));
  marks.docs.forEach((doc, slot) => {
    if (doc !== undefined) results[slot] = failureOf(doc.data);
  });
  return results;
}

function lastFirst(prefix: string, list: readonly StepConfig[]): Candidate[] {
  return list.map((step) => ({ key: prefix + step.id, step })).toReversed();
}

/** What may have been done after a step and because of it: its exception path, and the list that a condition chose. */
function inside({ key, step }: Candidate, record: StepRecord, output: Json | undefined): Omit<Search, 'slot'> | undefined {
  const lists = record.state === 'failed' || isCondition(step) ? Object.values(step.onException ?? {}) : [];
  const exceptions = lists.flatMap((list) => lastFirst(`${key}.onException.`, list));
  const branch = isCondition(step) ? branchOf(step, output) : undefined;
  const chosen = branch === undefined ? [] : lastFirst(`${key}.${branch.part}.`, branch.list);
  const candidates = [...exceptions, ...chosen];
  return candidates.length === 0 ? undefined : { candidates, reads: exceptions.length + 1 };
}

function branchOf(step: ConditionStep, output: Json | undefined): { part: 'then' | 'else'; list: readonly StepConfig[] } | undefined {
  if (typeof output !== 'object' || output === null || Array.isArray(output)) return undefined;
  return output['branch'] === 'then' ? { part: 'then', list: step.then } : { part: 'else', list: step.else ?? [] };
}

function failureOf(data: Readonly<Record<string, unknown>>): LaneResult & { ok: false } {
  return { ok: false, error: errorRecordSchema.parse(data['error']), stepKey: String(data['stepKey']) };
}

/** The failure of the lane that fired the join early. */
async function causeOf(runtime: Runtime, join: Held): Promise<(LaneResult & { ok: false }) | undefined> {
  const { accountId, runId } = join.record;
  const mark = join.record.join?.mark;
  if (mark === undefined) return undefined;
  const { docs } = await runtime.store.get([paths.join(accountId, runId, `${mark}:failed`)]);
  return docs[0] === undefined ? undefined : failureOf(docs[0].data);
}

function laneError(code: ErrorCode, failure: (LaneResult & { ok: false }) | undefined): ErrorRecord {
  const cause = failure?.error;
  const wrapped = toErrorRecord(
    new KilnError(code, `${failure?.stepKey ?? 'a lane'} failed: ${cause?.message ?? 'unknown'}`, {
      data: { cause, stepKey: failure?.stepKey },
    }),
  );
  // A business exception keeps its code on the way out, so that an outer onException can take it.
  return cause?.class === 'business' ? { ...wrapped, class: 'business', code: cause.code } : wrapped;
}

function briefError(error: ErrorRecord): Json {
  return { code: error.code, message: error.message };
}
