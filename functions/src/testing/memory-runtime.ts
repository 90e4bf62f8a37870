import { digest } from '../engine/json.ts';
import { indexDefinition } from '../engine/definition-index.ts';
import type { CodeWorkflows } from '../ledger/definitions.ts';
import { StoredMembers } from '../ledger/members.ts';
import { definitionSchema } from '../model/definition.ts';
import { KilnError } from '../model/errors.ts';
import type { Definitions, PinnedVersion, Runtime } from '../runner/runtime.ts';
import { ActionRegistry } from '../steps/action-registry.ts';
import type { Action } from '../steps/action-registry.ts';
import { createStepRegistry } from '../steps/index.ts';
import { noCode } from './no-code.ts';

type Base = Pick<Runtime, 'store' | 'clock' | 'doorbells'>;

/** What every test in memory has in common: nothing is random, no limit runs out, nothing is delivered, nobody is told. */
export function memoryRuntime(
  base: Base,
  { actions = [], ...parts }: Pick<Runtime, 'definitions'> & Partial<Runtime> & { readonly actions?: readonly Action[] },
): Runtime {
  let tokens = 0;
  const store = parts.store ?? base.store;
  return {
    ...base,
    random: () => 0.5,
    token: () => digest(`token ${(tokens += 1)}`).slice(0, 24),
    limitTime: (_ms, work) => work(new AbortController().signal),
    stepTypes: createStepRegistry(),
    services: { actions: new ActionRegistry(actions), members: new StoredMembers(store) },
    code: noCode,
    control: { halted: () => Promise.resolve(false) },
    deliveries: {},
    followers: [],
    observe: () => undefined,
    ...parts,
  };
}

/** Workflows that a test hands in, by their ids, beside those in code. */
export function givenDefinitions(given: Readonly<Record<string, unknown>>, code: CodeWorkflows = { pinned: () => undefined }): Definitions {
  const graphs = new Map(Object.entries(given).map(([id, one]) => [id, indexDefinition(definitionSchema.parse(withId(id, one)))]));
  const missing = (id: string): Promise<never> => Promise.reject(new KilnError('definition.not_found', `there is no workflow "${id}"`));
  const pinned = (id: string, version?: number): Promise<PinnedVersion> => {
    const graph = graphs.has(id) ? ({ kind: 'graph', version: version ?? 1, hash: '' } as const) : undefined;
    const found = code.pinned(id, version) ?? graph;
    return found === undefined ? missing(id) : Promise.resolve(found);
  };
  return {
    get: (_accountId, id) => {
      const found = graphs.get(id);
      return found === undefined ? missing(id) : Promise.resolve(found);
    },
    latest: (_accountId, id) => pinned(id),
    pinned: (_accountId, id, version) => pinned(id, version),
  };
}

/** A list of steps is a workflow as well. */
function withId(id: string, given: unknown): object {
  return Array.isArray(given) ? { id, steps: given as unknown[] } : { id, ...(given as object) };
}
