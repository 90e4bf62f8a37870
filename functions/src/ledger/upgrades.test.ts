import { readFileSync } from 'node:fs';
import type { CallableRequest } from 'firebase-functions/v2/https';
import { expect, test } from 'vitest';
import { decisionDocument } from '../model/client-documents.ts';
import { engineCollections, paths } from '../model/paths.ts';
import { StoredByNewerCode, upgraded } from '../model/upgrades.ts';
import { StepRegistry } from '../steps/registry.ts';
import { stepTypes } from '../steps/index.ts';
import type { ComputeStepType, StepType } from '../steps/step-type.ts';
import { ACCOUNT, Operations } from '../testing/operations.testing.ts';
import type { OperationsOptions } from '../testing/operations.testing.ts';
import { z } from '../testing/zod.testing.ts';
import { handleCall } from '../triggers/api.ts';
import type { Write } from './store.ts';

const DAY = 24 * 60 * 60_000;

interface Stored {
  readonly at: number;
  readonly definition: object;
  readonly documents: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** What the code stored that did not know yet who else stands behind a run: a run that waits for a person and for ten days. */
const earlier = JSON.parse(readFileSync(new URL('../testing/fixtures/stored-with-approvals-v1.json', import.meta.url), 'utf8')) as Stored;
const approvalPath = Object.keys(earlier.documents).find((path) => path.includes('/approvals/')) ?? '';
const approvalId = approvalPath.split('/').at(-1) ?? '';
const runId = 'earlier';

/** The same documents under other code, as after a deployment. */
async function restore(ops: Operations, documents: Stored['documents'], at: number): Promise<Operations> {
  ops.host.leap(at - ops.host.now);
  await ops.host.store.commit(Object.entries(documents).map(([path, data]) => ({ op: 'create', path, data })));
  return ops;
}

async function restored(): Promise<Operations> {
  const ops = await restore(new Operations(), earlier.documents, earlier.at);
  await ops.publish('order', earlier.definition);
  return ops;
}

function storedBy(ops: Operations): Stored['documents'] {
  return Object.fromEntries([...ops.host.store.all()].map(({ path, data }) => [path, data]));
}

async function decide(ops: Operations, by: string): Promise<void> {
  const { digest } = earlier.documents[approvalPath] as { digest: string };
  const data = decisionDocument({ accountId: ACCOUNT, approvalId, by, outcome: 'approve', digest, at: 0 });
  await ops.host.store.commit([{ op: 'create', path: paths.decision(ACCOUNT, approvalId, by), data }]);
  await ops.host.settle();
}

test('a run that an earlier version stored goes on to its end', async () => {
  expect(earlier.documents[approvalPath]).toMatchObject({ v: 1, status: 'pending' });
  expect(earlier.documents[approvalPath]).not.toHaveProperty('alsoStartedBy');
  const ops = await restored();
  await ops.host.settle();

  await decide(ops, 'ada');
  expect(ops.step(runId, 'lanes.ask.release').state).toBe('succeeded');
  ops.host.leap(11 * DAY);
  await ops.reconcile();

  expect(ops.run(runId).status).toBe('completed');
  expect(await ops.output(runId)).toEqual({ total: 120 });
  expect(ops.step(runId, 'after').output?.json).toBe('{"outcome":"approve","total":120}');
});

test('what newer code has written into a document of an earlier version stays', () => {
  const before = { ...earlier.documents[approvalPath], alsoStartedBy: ['boss'] };
  expect(upgraded(approvalPath, before)).toEqual({ ...before, v: 2 });
  expect(upgraded(approvalPath, upgraded(approvalPath, before))).toEqual({ ...before, v: 2 });
});

/** As the platform has it: a delivery that fails is a line in the log. */
function noting(faults: unknown[], written: Write[] = []): OperationsOptions {
  return {
    around: (route) => async (runtime, snapshot) => {
      try {
        await route(runtime, snapshot);
      } catch (error) {
        faults.push(error);
      }
    },
    hooks: {
      before: async (operation) => {
        if (operation.kind === 'commit') written.push(...operation.writes);
      },
    },
  };
}

function newer(...names: readonly string[]): Stored['documents'] {
  return Object.fromEntries(names.map((path) => [path, { ...earlier.documents[path], v: 9, meaning: 'known later' }]));
}

const stepPath = (key: string): string => paths.step(ACCOUNT, runId, key);
const ofTheRun = Object.keys(earlier.documents).filter((path) => path.includes(runId) || path === approvalPath);

test.each([
  ['a run with all that belongs to it', ofTheRun],
  ['a step', [stepPath('lanes.ask.release')]],
  ['an approval', [approvalPath]],
])('%s, stored by newer code, is refused with a clear error and not written over', async (_name, names) => {
  const faults: unknown[] = [];
  const written: Write[] = [];
  const ops = await restore(new Operations(noting(faults, written)), { ...earlier.documents, ...newer(...names) }, earlier.at);
  await ops.publish('order', earlier.definition);
  written.length = 0;
  await ops.host.settle();
  await decide(ops, 'ada');
  if (names === ofTheRun) await ops.ask(runId, 'cancel');
  await ops.host.settle();
  ops.host.leap(60 * DAY);
  await ops.reconcile();

  // The reconciler alone moves the hint by which it finds the document again.
  const touched = written.filter((write) => names.includes(write.path));
  expect(touched.map((write) => (write.op === 'update' ? Object.keys(write.data) : write.op))).toEqual(touched.map(() => ['due']));
  expect(faults).not.toEqual([]);
  for (const fault of faults) {
    expect(fault).toBeInstanceOf(StoredByNewerCode);
    expect(String(fault)).toContain('has schema version 9, and this code knows versions up to');
  }
});

test('a document of newer code keeps the reconciler and the audit from no other', async () => {
  const faults: unknown[] = [];
  const documents = { ...earlier.documents, ...newer(stepPath('lanes.ask.release')) };
  const ops = await restore(new Operations(noting(faults)), documents, earlier.at);
  await ops.publish('order', earlier.definition);
  const other = await ops.start('order', { total: 5 });
  ops.host.loseRings();
  ops.host.leap(60 * DAY);
  await ops.reconcile();
  expect(ops.host.store.peek(stepPath('lanes.rest.rest'))?.data['state']).toBe('succeeded');
  expect(ops.step(other, 'lanes.rest.rest').state).toBe('succeeded');
  expect(ops.host.store.peek(paths.reconciler)?.data).toMatchObject({ failed: 1, auditedAt: ops.host.now });
});

test('a call that meets such a document says so', async () => {
  const ops = await restore(new Operations(), newer(paths.member(ACCOUNT, 'ada')), earlier.at);
  const request = { auth: { uid: 'ada' }, data: { op: 'limits.put', accountId: ACCOUNT } } as unknown as CallableRequest;
  await expect(handleCall(ops.runtime, request)).rejects.toMatchObject({
    code: 'failed-precondition',
    details: { code: 'stored.newer_version' },
  });
});

test('a run in flight survives a deployment that adds a step type', async () => {
  const before = new Operations();
  const steps = [
    { id: 'first', type: 'transform', value: 'kept' },
    { id: 'rest', type: 'wait', for: '2d' },
  ];
  await before.publish('letter', { steps: [...steps, { id: 'last', type: 'transform', value: '{{step.first}}' }] });
  await before.start('letter', {}, 'in-flight');
  const useStamp = { steps: [...steps, { id: 'last', type: 'stamp', text: '{{step.first}}' }] };
  await expect(before.publish('letter', useStamp)).rejects.toThrow(/stamp/);

  const stamp: ComputeStepType<{ type: 'stamp'; text: string }> = {
    type: 'stamp',
    title: 'Stamp',
    description: 'Puts a stamp on a text.',
    kind: 'compute',
    schema: z.strictObject({ type: z.literal('stamp'), text: z.string() }),
    compute: ({ config }) => `${config.text}, stamped`,
  };
  const added = new Operations({ stepTypes: new StepRegistry([...stepTypes, stamp as unknown as StepType]) });
  const after = await restore(added, storedBy(before), before.host.now);
  expect(await after.publish('letter', useStamp)).toBe(2);
  await after.host.settle();
  await after.start('letter', {}, 'afterwards');
  after.host.leap(3 * DAY);
  await after.reconcile();

  expect(after.run('in-flight')).toMatchObject({ status: 'completed', version: 1 });
  expect(await after.output('in-flight')).toBe('kept');
  expect(after.run('afterwards')).toMatchObject({ status: 'completed', version: 2 });
  expect(await after.output('afterwards')).toBe('kept, stamped');
});

test('a document of the team has whatever version it likes', () => {
  const own = { v: 7, total: 1 };
  expect(upgraded('orders/1', own)).toBe(own);
  expect(upgraded('accounts/acme/orders/1', own)).toBe(own);
  for (const collection of engineCollections) expect(() => upgraded(`accounts/acme/${collection}/1`, own)).toThrow(StoredByNewerCode);
});
