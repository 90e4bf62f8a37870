import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { StepTypeCatalog } from '../engine/preflight.ts';
import { publishWorkflow, StoredDefinitions } from '../ledger/definitions.ts';
import type { CodeWorkflows, Published } from '../ledger/definitions.ts';
import type { Store } from '../ledger/store.ts';
import { versionRecordSchema } from '../model/definition.ts';
import { KilnError } from '../model/errors.ts';
import { paths } from '../model/paths.ts';

const types: StepTypeCatalog = {
  find: (type) =>
    type === 'note' ? { kind: 'compute', schema: z.strictObject({ type: z.literal('note'), text: z.string() }) } : undefined,
  names: () => ['note'],
};
const code: CodeWorkflows = {
  pinned: (id) => (id === 'in-code' ? { kind: 'code', version: 3, hash: 'h' } : undefined),
};

const noted = (text: string, id = 'flow'): object => ({ id, name: 'A flow', steps: [{ id: 'a', type: 'note', text }] });

/** A store that counts the documents that are asked for by path. */
function counting(store: Store): { readonly store: Store; reads: number } {
  const counted = {
    reads: 0,
    store: {
      ...bound(store),
      get: (wanted: readonly string[]) => {
        counted.reads += wanted.length;
        return store.get(wanted);
      },
    },
  };
  return counted;
}

function bound(store: Store): Store {
  return {
    get: (wanted) => store.get(wanted),
    query: (query) => store.query(query),
    commit: (writes) => store.commit(writes),
    transaction: (work) => store.transaction(work),
  };
}

async function errorOf(work: Promise<unknown>): Promise<KilnError> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof KilnError) return error;
  throw error instanceof Error ? error : new Error('expected a KilnError');
}

/** Publishing and reading of workflow versions, on any store. */
export function definitionsContract(name: string, open: () => Promise<Store>): void {
  describe(`definitions in ${name}`, () => {
    let store: Store;
    beforeAll(async () => {
      store = await open();
    });
    const account = (): string => randomUUID();
    const publish = (accountId: string, definition: unknown): Promise<Published> =>
      publishWorkflow({ store, types, code, now: () => 1_000 }, { accountId, definition, publishedBy: 'ann' });

    test('the first version is 1; a change makes the next; both can be read', async () => {
      const accountId = account();
      const first = await publish(accountId, noted('one'));
      const second = await publish(accountId, noted('two'));
      expect([first, second]).toMatchObject([
        { workflowId: 'flow', version: 1, created: true },
        { workflowId: 'flow', version: 2, created: true },
      ]);
      const definitions = new StoredDefinitions(store, code);
      expect(await definitions.latest(accountId, 'flow')).toEqual({ kind: 'graph', version: 2, hash: second.hash });
      expect(await definitions.pinned(accountId, 'flow', 1)).toEqual({ kind: 'graph', version: 1, hash: first.hash });
      expect((await errorOf(definitions.pinned(accountId, 'flow', 3))).code).toBe('definition.not_found');
      const texts = await Promise.all([1, 2].map(async (version) => (await definitions.get(accountId, 'flow', version)).definition.steps));
      expect(texts).toEqual([[{ id: 'a', type: 'note', text: 'one' }], [{ id: 'a', type: 'note', text: 'two' }]]);
    });

    test('R4 the same definition again is no new version, however its keys are ordered', async () => {
      const accountId = account();
      const first = await publish(accountId, noted('one'));
      const again = await publish(accountId, { steps: [{ text: 'one', type: 'note', id: 'a' }], name: 'A flow', id: 'flow' });
      expect(again).toEqual({ ...first, created: false });
      const { docs } = await store.get([paths.version(accountId, 'flow', 1), paths.version(accountId, 'flow', 2)]);
      expect(docs.map((doc) => doc?.data['publishedBy'])).toEqual(['ann', undefined]);
    });

    test('going back to an earlier definition is a new version: versions are a history', async () => {
      const accountId = account();
      await publish(accountId, noted('one'));
      await publish(accountId, noted('two'));
      expect(await publish(accountId, noted('one'))).toMatchObject({ version: 3, created: true });
    });

    test('several at once get numbers one after the other; the same one at once is one version', async () => {
      const accountId = account();
      const different = await Promise.all(['a', 'b', 'c'].map((text) => publish(accountId, noted(text))));
      expect(different.map(({ version }) => version).sort((a, b) => a - b)).toEqual([1, 2, 3]);
      const same = await Promise.all([1, 2, 3].map(() => publish(accountId, noted('same', 'other'))));
      expect(same.map(({ version }) => version)).toEqual([1, 1, 1]);
      expect(same.filter(({ created }) => created)).toHaveLength(1);
    });

    test('F4 C9 a faulty definition is refused with every problem, and nothing is stored', async () => {
      const accountId = account();
      const steps = [
        { id: 'a', type: 'note', text: '{{step.b}}' },
        { id: 'a', type: 'nope' },
      ];
      const error = await errorOf(publish(accountId, { id: 'flow', steps }));
      expect(error.code).toBe('definition.invalid');
      expect(error.data).toMatchObject({ problems: [{ path: 'steps[1].id' }, { path: 'steps[0].text' }, { path: 'steps[1].type' }] });
      expect(error.message).toContain('steps[0].text: {{step.b}}');
      expect((await errorOf(publish(accountId, 'nothing'))).code).toBe('definition.invalid');
      expect((await store.get([paths.workflow(accountId, 'flow')])).docs).toEqual([undefined]);
    });

    test('a workflow in code: its id cannot be published; its version comes from the code, without a read', async () => {
      const accountId = account();
      expect((await errorOf(publish(accountId, noted('one', 'in-code')))).message).toContain('workflow in code');
      const counted = counting(store);
      const definitions = new StoredDefinitions(counted.store, code);
      expect(await definitions.latest(accountId, 'in-code')).toEqual({ kind: 'code', version: 3, hash: 'h' });
      expect(counted.reads).toBe(0);
    });

    test('a version is read once for each instance, the latest one each time', async () => {
      const accountId = account();
      await publish(accountId, noted('one'));
      const counted = counting(store);
      const definitions = new StoredDefinitions(counted.store, code);
      const indexes = [await definitions.get(accountId, 'flow', 1), await definitions.get(accountId, 'flow', 1)];
      expect(indexes[0]).toBe(indexes[1]);
      expect(counted.reads).toBe(1);
      await definitions.latest(accountId, 'flow');
      await definitions.latest(accountId, 'flow');
      expect(counted.reads).toBe(3);
    });

    test('what is not there is said, and nothing of it is remembered', async () => {
      const accountId = account();
      const definitions = new StoredDefinitions(store, code);
      for (const work of [() => definitions.latest(accountId, 'flow'), () => definitions.get(accountId, 'flow', 1)]) {
        expect((await errorOf(work())).code).toBe('definition.not_found');
      }
      await publish(accountId, noted('one'));
      expect((await definitions.get(accountId, 'flow', 1)).places.has('a')).toBe(true);
    });

    test('an account never sees the workflows of another', async () => {
      const [mine, other] = [account(), account()];
      await publish(mine, noted('one'));
      const definitions = new StoredDefinitions(store, code);
      await definitions.get(mine, 'flow', 1);
      expect((await errorOf(definitions.get(other, 'flow', 1))).code).toBe('definition.not_found');
      expect((await errorOf(definitions.latest(other, 'flow'))).code).toBe('definition.not_found');
    });

    test('a version that was changed in the database is not run', async () => {
      const accountId = account();
      await publish(accountId, noted('one'));
      const path = paths.version(accountId, 'flow', 1);
      const { docs } = await store.get([path]);
      const record = versionRecordSchema.parse(docs[0]?.data);
      await store.commit([{ op: 'update', path, data: { json: record.json.replace('one', 'evil') } }]);
      expect((await errorOf(new StoredDefinitions(store, code).get(accountId, 'flow', 1))).code).toBe('definition.corrupted');
    });

    test('A13 a run goes on with a version that a newer deployment would refuse', async () => {
      const accountId = account();
      await publish(accountId, noted('one'));
      const strict: StepTypeCatalog = { find: () => undefined, names: () => [] };
      const refused = publishWorkflow(
        { store, types: strict, code, now: () => 1 },
        { accountId, definition: noted('two'), publishedBy: 'ann' },
      );
      expect((await errorOf(refused)).code).toBe('definition.invalid');
      expect((await new StoredDefinitions(store, code).get(accountId, 'flow', 1)).definition.id).toBe('flow');
    });

    test('a definition of 500 KB, with keys of any script, comes back as it was', async () => {
      const accountId = account();
      const definition = { ...noted('one'), output: { 步骤: '🙂'.repeat(120_000), 'a.b': { '': 1, __x__: 2 } } };
      await publish(accountId, definition);
      expect((await new StoredDefinitions(store, code).get(accountId, 'flow', 1)).definition).toEqual(definition);
    });
  });
}
