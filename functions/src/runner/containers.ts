import { evaluateCondition } from '../engine/conditions.ts';
import { isCondition, isLoop, keyOf, placeOf } from '../engine/definition-index.ts';
import type { DefinitionIndex } from '../engine/definition-index.ts';
import { enterList, startBranches, startLoop } from '../engine/graph-planner.ts';
import type { Next } from '../engine/graph-planner.ts';
import { canonicalJson } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import { parsePath, referencesIn, requirePath, resolveTemplates } from '../engine/templates.ts';
import { cancelUnder } from '../ledger/end-run.ts';
import { createNext, heldStep } from '../ledger/steps.ts';
import type { Held } from '../ledger/steps.ts';
import { finish, suspend } from '../ledger/transitions.ts';
import { definitionLimits } from '../model/definition.ts';
import type { LoopStep } from '../model/definition.ts';
import { KilnError } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import { gather } from './gather.ts';
import { runOutputOf } from './run-output.ts';
import type { Runtime } from './runtime.ts';
import { scopeFrom } from './resolve.ts';
import { readScope } from './scope-reader.ts';

/** Chooses a list and steps into it. The condition ends at once; it is a signpost. */
export async function beginCondition(runtime: Runtime, held: Held, index: DefinitionIndex): Promise<void> {
  const place = placeOf(index, held.record.stepId);
  if (!isCondition(place.step)) throw new KilnError('step.unknown_type', `"${place.step.id}" is no condition`);
  const scope = await readScope(runtime.store, scopeFrom(held, index), { references: [], expressions: [place.step.if] });
  const value = evaluateCondition(place.step.if, scope.variables());
  const branch = value ? 'then' : 'else';
  const next = enterList(index, place, branch, held.record.loops);
  const output = canonicalJson({ branch, value });
  await finish(runtime, held, { index, outcome: { kind: 'succeeded', output }, next, runOutput: runOutputOf(runtime, held, index) });
}

/** Resolves the items once, stores them, and starts the lanes. */
export async function beginLoop(runtime: Runtime, held: Held, index: DefinitionIndex): Promise<void> {
  const place = placeOf(index, held.record.stepId);
  if (!isLoop(place.step)) throw new KilnError('step.unknown_type', `"${place.step.id}" is no loop`);
  const items = await loopItems(runtime, held, index, place.step);
  const limit = Math.min(place.step.maxItems ?? Infinity, index.definition.limits?.maxLoopItems ?? definitionLimits.maxLoopItems);
  if (items.length > limit) {
    throw new KilnError('loop.too_many_items', `loop "${place.step.id}" has ${items.length} items; its limit is ${limit}`);
  }
  const budget = (index.definition.limits?.maxSteps ?? definitionLimits.maxSteps) - held.record.seq;
  if (items.length * place.step.steps.length > budget) {
    throw new KilnError(
      'run.too_many_steps',
      `loop "${place.step.id}" needs ${items.length * place.step.steps.length} steps or more; ${budget} are left of the run's limit`,
    );
  }
  if (items.length === 0) {
    await finish(runtime, held, { index, outcome: { kind: 'succeeded', output: '[]' }, runOutput: runOutputOf(runtime, held, index) });
    return;
  }
  const lanes = Math.min(place.step.concurrency ?? 1, items.length);
  await fork(runtime, held, startLoop(index, place, held.record.loops, items.length, lanes), canonicalJson(items));
}

async function loopItems(runtime: Runtime, held: Held, index: DefinitionIndex, step: LoopStep): Promise<Json[]> {
  const { over } = step;
  if (over.source === 'static') {
    const references = referencesIn(over.items as Json[]);
    const scope = await readScope(runtime.store, scopeFrom(held, index), { references });
    return listOf(
      resolveTemplates(over.items as Json[], (reference) => scope.lookup(reference)),
      step.id,
      'items',
    );
  }
  const path = parsePath(over.path ?? '');
  const reference =
    over.source === 'previousStep'
      ? ({ root: 'step', stepId: over.stepId, path, text: `step.${over.stepId}` } as const)
      : over.source === 'workflowInput'
        ? ({ root: 'workflow_input', path, text: 'workflow_input' } as const)
        : ({ root: 'loop_item', path, text: 'loop_item' } as const);
  const scope = await readScope(runtime.store, scopeFrom(held, index), { references: [reference] });
  const root = scope.lookup(reference);
  if (root === undefined) throw new KilnError('template.missing_step', `loop "${step.id}": ${reference.text} has no value here`);
  return listOf(requirePath(root, path, reference.text), step.id, `${reference.text}${over.path === undefined ? '' : `.${over.path}`}`);
}

function listOf(value: Json, stepId: string, where: string): Json[] {
  if (Array.isArray(value)) return value;
  const found = value === null ? 'null' : typeof value;
  throw new KilnError('loop.not_a_list', `loop "${stepId}" needs a list, but ${where} is ${found === 'object' ? 'an object' : found}`, {
    data: { path: where },
  });
}

export async function beginParallel(runtime: Runtime, held: Held, index: DefinitionIndex): Promise<void> {
  const place = placeOf(index, held.record.stepId);
  await fork(runtime, held, startBranches(index, place, held.record.loops), undefined);
}

async function fork(runtime: Runtime, held: Held, starts: readonly Next[], input: string | undefined): Promise<void> {
  const { record } = held;
  const inherited = { from: record, seq: record.seq, activeMs: record.activeMs, now: runtime.clock.now() };
  const also = starts.flatMap((next) => (next.kind === 'step' ? [createNext(next, inherited)] : []));
  await suspend(runtime, held, { wait: { kind: 'children' }, also, ...(input === undefined ? {} : { input }) });
}

/** All lanes ended, or one decided: ends what still lives, collects the results, and completes the container. */
export async function beginJoin(runtime: Runtime, held: Held, index: DefinitionIndex): Promise<void> {
  const { record } = held;
  const join = record.join;
  if (join === undefined) throw new KilnError('internal', `join "${record.key}" does not say whose it is`);
  const place = placeOf(index, join.owner);
  const ownerKey = keyOf(place, record.loops);
  if (join.reason !== 'complete') {
    await cancelUnder(runtime, record, isLoop(place.step) ? `${ownerKey}[` : `${ownerKey}.`, record.key);
  }
  const { docs } = await runtime.store.get([paths.step(record.accountId, record.runId, ownerKey)]);
  if (docs[0] === undefined) throw new KilnError('internal', `the container "${ownerKey}" is missing`);
  const owner = heldStep(docs[0]);
  const outcome = await gather(runtime, held, owner, index);
  await finish(runtime, held, { index, owner, outcome, runOutput: runOutputOf(runtime, owner, index) });
}
