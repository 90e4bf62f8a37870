import { z } from 'zod';
import { publishWorkflow } from '../ledger/definitions.ts';
import { codeWorkflows } from '../durable/index.ts';
import { KilnError } from '../model/errors.ts';
import { checkEnvironment } from '../runner/preflight-run.ts';
import { startRun } from '../runner/runs.ts';
import type { Runtime } from '../runner/runtime.ts';
import { parseDefinition, checkDefinition } from '../engine/preflight.ts';
import { indexDefinition } from '../engine/definition-index.ts';
import type { Operation } from './api.ts';
import { operatingOperations } from './operating.ts';
import { oversightOperations } from './oversight-operations.ts';
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
  ...operatingOperations,
  ...oversightOperations,
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
    run: async (runtime, actor, data) => {
      const parsed = parseDefinition(definitionInput.parse(data).definition);
      if (parsed.definition === undefined) return { problems: parsed.problems };
      const index = indexDefinition(parsed.definition);
      const problems = checkDefinition(index, runtime.stepTypes);
      // The environment is asked about sound steps only.
      return { problems: problems.length > 0 ? problems : await checkEnvironment(runtime, actor.accountId, index) };
    },
  },
  publish: {
    roles: ['author'],
    run: async (runtime, actor, data) => {
      const { definition, note } = definitionInput.parse(data);
      await refuseForGood(runtime, actor.accountId, definition);
      const publisher = { store: runtime.store, types: runtime.stepTypes, code: codeWorkflows(), now: () => runtime.clock.now() };
      const publication = { accountId: actor.accountId, definition, publishedBy: actor.uid, ...(note === undefined ? {} : { note }) };
      return publishWorkflow(publisher, publication);
    },
  },
};

/** What may still be set up after publishing, such as a secret, is found before each run. What no set-up can change is refused now. */
async function refuseForGood(runtime: Runtime, accountId: string, definition: unknown): Promise<void> {
  const parsed = parseDefinition(definition).definition;
  if (parsed === undefined) return;
  const index = indexDefinition(parsed);
  // Publishing lists what is wrong with the definition itself.
  if (checkDefinition(index, runtime.stepTypes).length > 0) return;
  const found = await checkEnvironment(runtime, accountId, index);
  const problems = found.filter(({ code }) => code === 'http.blocked_address' || code.startsWith('condition.'));
  if (problems.length === 0) return;
  const list = problems.slice(0, 5).map(({ path, message }) => `${path}: ${message}`);
  throw new KilnError('definition.invalid', `the definition has ${problems.length} problem(s): ${list.join('; ')}`, { data: { problems } });
}

function present<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
