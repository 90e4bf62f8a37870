import { z } from 'zod';
import { publishWorkflow } from '../ledger/definitions.ts';
import { codeWorkflows } from '../durable/index.ts';
import { startRun } from '../runner/runs.ts';
import { parseDefinition, checkDefinition } from '../engine/preflight.ts';
import { indexDefinition } from '../engine/definition-index.ts';
import type { Operation } from './api.ts';
import { peopleOperations } from './people-operations.ts';
import { worldOperations } from './world-operations.ts';

const startSchema = z.strictObject({
  workflowId: z.string().min(1),
  input: z.json().default(null),
  version: z.number().int().positive().optional(),
  startKey: z.string().max(500).optional(),
  policy: z
    .strictObject({ reuseRunning: z.boolean().optional(), reuseSucceeded: z.boolean().optional(), restartFailed: z.boolean().optional() })
    .optional(),
});

const definitionInput = z.strictObject({ definition: z.json(), note: z.string().max(500).optional() });

/** Every op of the callable, with the roles that may use it. */
export const operations: Readonly<Record<string, Operation>> = {
  ...peopleOperations,
  ...worldOperations,
  start: {
    roles: ['operator', 'author'],
    run: async (runtime, actor, data) => {
      const { workflowId, input, version, startKey, policy } = startSchema.parse(data);
      return startRun(runtime, {
        accountId: actor.accountId,
        workflowId,
        input: input,
        startedBy: { kind: 'user', id: actor.uid },
        ...(version === undefined ? {} : { version }),
        ...(startKey === undefined ? {} : { startKey }),
        ...(policy === undefined ? {} : { policy: present(policy) }),
      });
    },
  },
  preflight: {
    roles: ['author', 'operator'],
    run: async (runtime, _actor, data) => {
      const parsed = parseDefinition(definitionInput.parse(data).definition);
      const problems =
        parsed.definition === undefined ? parsed.problems : checkDefinition(indexDefinition(parsed.definition), runtime.stepTypes);
      return { problems };
    },
  },
  publish: {
    roles: ['author'],
    run: async (runtime, actor, data) => {
      const { definition, note } = definitionInput.parse(data);
      const publisher = { store: runtime.store, types: runtime.stepTypes, code: codeWorkflows(), now: () => runtime.clock.now() };
      const publication = { accountId: actor.accountId, definition, publishedBy: actor.uid, ...(note === undefined ? {} : { note }) };
      return publishWorkflow(publisher, publication);
    },
  },
};

function present<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
