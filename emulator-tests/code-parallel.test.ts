import { afterAll, describe, expect, test } from 'vitest';
import { canonicalJson } from '../functions/src/engine/json.ts';
import { DatabaseClock, observed } from '../functions/src/ledger/clock.ts';
import { FirestoreStore } from '../functions/src/ledger/firestore-store.ts';
import { newRunWrites } from '../functions/src/ledger/new-run.ts';
import { liveSteps } from '../functions/src/ledger/runs.ts';
import { ReplayingPlanner } from '../functions/src/durable/code-planner.ts';
import { defineWorkflow, WorkflowRegistry } from '../functions/src/durable/define-workflow.ts';
import type { AnyCodeWorkflow } from '../functions/src/durable/define-workflow.ts';
import { paths } from '../functions/src/model/paths.ts';
import { runRecordSchema, terminalRunStatuses } from '../functions/src/model/run.ts';
import type { RunRecord } from '../functions/src/model/run.ts';
import { stepRecordSchema } from '../functions/src/model/step.ts';
import { attend } from '../functions/src/runner/attend.ts';
import { attendRun } from '../functions/src/runner/runs.ts';
import type { Runtime } from '../functions/src/runner/runtime.ts';
import { officeRuntime } from '../functions/src/testing/office.ts';
import { adminAppPackage, firestorePackage } from './functions-packages.ts';

const app = adminAppPackage().initializeApp({ projectId: 'demo-code-parallel' }, 'code-parallel');
const db = firestorePackage().getFirestore(app);
const accountId = 'acme';
let runs = 0;

afterAll(() => db.terminate());

/** The runner on the real database; doorbells are not needed, since every live step is attended again and again. */
function runtimeOf(workflow: AnyCodeWorkflow): Runtime {
  const clock = new DatabaseClock(() => Date.now());
  const base = { store: observed(new FirestoreStore(db), clock), clock, doorbells: { arm: () => Promise.resolve() } };
  return { ...officeRuntime(base, {}), code: new ReplayingPlanner(new WorkflowRegistry([workflow])) };
}

/** Runs a workflow on several instances at once, each attending whatever lives, until it has ended. */
async function complete(workflow: AnyCodeWorkflow, instances: number): Promise<{ run: RunRecord; attempts: number[]; ms: number }> {
  const runId = `run-${(runs += 1)}`;
  const ref = { accountId, runId };
  const hosts = Array.from({ length: instances }, () => runtimeOf(workflow));
  const [first] = hosts as [Runtime];
  const pinned = { kind: 'code', version: 1, hash: 'test' } as const;
  const input = canonicalJson(null);
  await first.store.commit(
    newRunWrites({ ...ref, workflowId: workflow.id, pinned, input, startedBy: { kind: 'code', id: 'test' }, now: first.clock.now() }),
  );
  await attendRun(first, ref);
  const began = Date.now();
  for (let round = 0; round < 200; round += 1) {
    const found = await first.store.get([paths.run(accountId, runId)]);
    const run = runRecordSchema.parse(found.docs[0]?.data);
    if (terminalRunStatuses.has(run.status)) {
      const all = await db.collection(paths.steps(accountId, runId)).get();
      return { run, attempts: all.docs.map((doc) => Number(doc.get('attempt'))), ms: Date.now() - began };
    }
    const live = await first.store.query(liveSteps(ref));
    const steps = live.docs.map((doc) => stepRecordSchema.parse(doc.data));
    // Every step by two instances: deliveries come twice.
    await Promise.all(
      steps.flatMap((step, i) => [0, 1].map((n) => attend(hosts[(i + n) % instances] ?? first, step, { kind: 'trigger' }))),
    );
  }
  throw new Error('the run did not end');
}

describe('steps at the same time on Firestore', () => {
  test.each([3, 40])('R8 %i steps at once, delivered twice to three instances: each attempted once, no result lost', async (count) => {
    const workflow = defineWorkflow({
      id: 'gathers',
      async run({ step }) {
        const squares = await Promise.all(Array.from({ length: count }, (_, i) => step.run(`square-${i}`, () => i * i)));
        return step.run('sum', () => squares.reduce((sum, square) => sum + square, 0));
      },
    });
    const { run, attempts, ms } = await complete(workflow, 3);
    expect(run).toMatchObject({
      status: 'completed',
      output: { json: String(Array.from({ length: count }, (_, i) => i * i).reduce((a, b) => a + b)) },
    });
    expect(attempts).toHaveLength(count + 1);
    expect(Math.max(...attempts)).toBe(1);
    process.stdout.write(`${count} steps at once, doubly delivered: ${ms} ms\n`);
  });

  test('a race closes its loser, and the run ends with the commit of its last step', async () => {
    const workflow = defineWorkflow({
      id: 'races',
      async run({ step }) {
        const { winner } = await step.race({ quick: step.run('quick', () => 1), long: step.sleep('long', '7d') });
        return winner;
      },
    });
    const { run } = await complete(workflow, 2);
    expect(run).toMatchObject({ status: 'completed', output: { json: '"quick"' } });
    expect((await db.doc(paths.step(accountId, run.runId, 'long')).get()).get('state')).toBe('cancelled');
  });

  test('a run that ends as it begins is begun and ended in one commit', async () => {
    const { run } = await complete(defineWorkflow({ id: 'empty', run: () => 'at once' }), 1);
    expect(run).toMatchObject({ status: 'completed', output: { json: '"at once"' } });
  });

  test('transactions of many runs on one document: every count is kept, each once', async () => {
    const workflow = defineWorkflow({
      id: 'counts',
      run: ({ step }) =>
        step.transaction('count', async (tx) => {
          const value = Number((await tx.get('own/counter'))?.['value'] ?? 0) + 1;
          tx.set('own/counter', { value });
          return value;
        }),
    });
    const ended = await Promise.all(Array.from({ length: 8 }, () => complete(workflow, 1)));
    expect(ended.map(({ run }) => run.status)).toEqual(Array.from({ length: 8 }, () => 'completed'));
    expect((await db.doc('own/counter').get()).get('value')).toBe(8);
    expect(new Set(ended.map(({ run }) => run.output?.json)).size).toBe(8);
  });
});
