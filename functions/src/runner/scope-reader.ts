import { LRUCache } from 'lru-cache';
import { conditionReferences } from '../engine/conditions.ts';
import { placeOf } from '../engine/definition-index.ts';
import type { DefinitionIndex, Place } from '../engine/definition-index.ts';
import { keyOf, loopsAround } from '../engine/definition-index.ts';
import { parseJson } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import { visibleFrom, visibleKey } from '../engine/scope.ts';
import type { Reference } from '../engine/templates.ts';
import { loadPayload } from '../ledger/payloads.ts';
import { KilnError } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import type { RunRef } from '../model/paths.ts';
import { runRecordSchema } from '../model/run.ts';
import type { RunRecord } from '../model/run.ts';
import { stepRecordSchema } from '../model/step.ts';
import type { LoopFrame, StepRecord } from '../model/step.ts';
import type { Store } from '../ledger/store.ts';

/** What a step can see, read once for exactly the references it makes. */
export interface Scope {
  lookup(reference: Reference): Json | undefined;
  /** The same, as variables of an expression. */
  variables(): Record<string, Json>;
  /** Present when the run was read. */
  readonly run: RunRecord | undefined;
}

export interface ScopeWants {
  readonly references: readonly Reference[];
  readonly expressions?: readonly string[];
  /** Values known before they are stored: the output of the step that ends now. */
  readonly known?: ReadonlyMap<string, Json>;
}

type ItemsCache = LRUCache<string, Json[]>;

/** Items of loops, by run and key, for each store; immutable, so they may be kept. About 64 MB per instance. */
const itemsCaches = new WeakMap<Store, ItemsCache>();

function itemsCacheOf(store: Store): ItemsCache {
  let cache = itemsCaches.get(store);
  if (cache === undefined) {
    cache = new LRUCache<string, Json[]>({ maxSize: 64 * 1024 * 1024, sizeCalculation: (items) => 64 + items.length * 64 });
    itemsCaches.set(store, cache);
  }
  return cache;
}

export interface ScopeFrom {
  readonly ref: RunRef;
  readonly index: DefinitionIndex;
  /** Undefined at the end of a run: everything at the root is visible. */
  readonly place: Place | undefined;
  readonly loops: readonly LoopFrame[];
}

/** Reads what the references need: the run for its input, one document for each earlier output, the loop's items. */
export async function readScope(store: Store, from: ScopeFrom, wants: ScopeWants): Promise<Scope> {
  const fromExpressions = (wants.expressions ?? []).map((text) => conditionReferences(text));
  const roots = new Set([...wants.references.map((reference) => reference.root), ...fromExpressions.flatMap((found) => found.roots)]);
  const stepIds = new Set([
    ...wants.references.flatMap((reference) => (reference.root === 'step' ? [reference.stepId] : [])),
    ...fromExpressions.flatMap((found) => found.stepIds),
  ]);
  const keys = new Map<string, string>();
  for (const stepId of stepIds) {
    if (wants.known?.has(stepId) !== true) keys.set(stepId, keyVisible(from, stepId));
  }
  const needsRun = roots.has('workflow_input') || roots.has('run');
  const loop = roots.has('loop_item') ? from.loops.at(-1) : undefined;
  if (roots.has('loop_item') && loop === undefined) throw new KilnError('template.missing_step', 'loop_item is used outside of a loop');
  const itemsCache = itemsCacheOf(store);
  const itemsKey = loop === undefined ? undefined : itemsCacheKey(from, loop);
  const needsItems = itemsKey !== undefined && !itemsCache.has(itemsKey.cache);
  const wanted = [
    ...(needsRun ? [paths.run(from.ref.accountId, from.ref.runId)] : []),
    ...[...keys.values()].map((key) => paths.step(from.ref.accountId, from.ref.runId, key)),
    ...(needsItems ? [itemsKey.path] : []),
  ];
  const { docs } = wanted.length === 0 ? { docs: [] } : await store.get(wanted);
  const found = new Map(docs.flatMap((doc) => (doc === undefined ? [] : [[doc.path, doc] as const])));

  const runDoc = found.get(paths.run(from.ref.accountId, from.ref.runId));
  const run = runDoc === undefined ? undefined : runRecordSchema.parse(runDoc.data);
  const input = run === undefined || !roots.has('workflow_input') ? undefined : parseJson(await loadPayload(store, from.ref, run.input));
  const outputs = new Map<string, Json>(wants.known ?? []);
  for (const [stepId, key] of keys) {
    const doc = found.get(paths.step(from.ref.accountId, from.ref.runId, key));
    const value = doc === undefined ? undefined : await outputOf(store, stepRecordSchema.parse(doc.data));
    if (value !== undefined) outputs.set(stepId, value);
  }
  if (needsItems) {
    const doc = found.get(itemsKey.path);
    const payload = doc === undefined ? undefined : stepRecordSchema.parse(doc.data).input;
    const items = payload === undefined ? [] : (parseJson(await loadPayload(store, from.ref, payload)) as Json[]);
    itemsCache.set(itemsKey.cache, items);
  }
  const item = loop === undefined || itemsKey === undefined ? undefined : itemsCache.get(itemsKey.cache)?.[loop.index];
  return scopeOf({ input, outputs, item, loop: from.loops.at(-1), run });
}

interface Values {
  readonly input: Json | undefined;
  readonly outputs: ReadonlyMap<string, Json>;
  readonly item: Json | undefined;
  readonly loop: LoopFrame | undefined;
  readonly run: RunRecord | undefined;
}

function scopeOf({ input, outputs, item, loop, run }: Values): Scope {
  const facts: Json | undefined = run === undefined ? undefined : runFacts(run);
  return {
    run,
    lookup(reference) {
      switch (reference.root) {
        case 'workflow_input':
          return input;
        case 'step':
          return outputs.get(reference.stepId);
        case 'loop_item':
          return item;
        case 'loop_index':
          return loop?.index;
        case 'run':
          return facts;
        case 'input':
        case 'secret':
          return undefined;
      }
    },
    variables() {
      return {
        ...(input === undefined ? {} : { workflow_input: input }),
        step: Object.fromEntries(outputs),
        ...(item === undefined ? {} : { loop_item: item }),
        ...(loop === undefined ? {} : { loop_index: loop.index }),
        ...(facts === undefined ? {} : { run: facts }),
      };
    },
  };
}

export function runFacts(run: RunRecord): Json {
  return {
    id: run.runId,
    workflowId: run.workflowId,
    version: run.version,
    startedBy: { kind: run.startedBy.kind, id: run.startedBy.id },
    createdAt: run.createdAt,
    ...(run.businessKey === undefined ? {} : { businessKey: run.businessKey }),
  };
}

function keyVisible(from: ScopeFrom, stepId: string): string {
  if (from.place === undefined) return visibleKey(placeOf(from.index, stepId), from.loops);
  const visible = visibleFrom(from.index, from.place, stepId);
  if (!visible.ok) {
    throw new KilnError(
      'template.missing_step',
      `step "${stepId}" cannot be seen from "${from.place.step.id}" (${visible.fault.replaceAll('_', ' ')})`,
    );
  }
  return visibleKey(visible.place, from.loops);
}

function itemsCacheKey(from: ScopeFrom, loop: LoopFrame): { cache: string; path: string } {
  const place = placeOf(from.index, loop.stepId);
  const key = keyOf(place, loopsAround(place, from.loops));
  return { cache: `${from.ref.accountId}/${from.ref.runId}/${key}`, path: paths.step(from.ref.accountId, from.ref.runId, key) };
}

/** The output as later steps see it: that of a failed step that was passed over is `{error}`; undefined when it did not run. */
export async function outputOf(store: Pick<Store, 'get'>, record: StepRecord): Promise<Json | undefined> {
  if (record.output !== undefined) return parseJson(await loadPayload(store, record, record.output));
  if (record.state === 'failed' && record.error !== undefined) {
    return { error: { code: record.error.code, message: record.error.message } };
  }
  return undefined;
}
