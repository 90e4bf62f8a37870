import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { attendCommand } from '../functions/src/ledger/commands.ts';
import { DatabaseClock, observed } from '../functions/src/ledger/clock.ts';
import { publishWorkflow, StoredDefinitions } from '../functions/src/ledger/definitions.ts';
import { attendEvent, eventRecord } from '../functions/src/ledger/events.ts';
import { FirestoreStore } from '../functions/src/ledger/firestore-store.ts';
import { readHistory, verifyHistory } from '../functions/src/ledger/history.ts';
import { storePayload } from '../functions/src/ledger/payloads.ts';
import { liveSteps } from '../functions/src/ledger/runs.ts';
import { StoreConflict } from '../functions/src/ledger/store.ts';
import { commandDocument } from '../functions/src/model/client-documents.ts';
import { commandRecordSchema } from '../functions/src/model/command.ts';
import type { CommandKind, CommandRecord } from '../functions/src/model/command.ts';
import { paths } from '../functions/src/model/paths.ts';
import { runRecordSchema } from '../functions/src/model/run.ts';
import type { RunRecord } from '../functions/src/model/run.ts';
import { stepRecordSchema } from '../functions/src/model/step.ts';
import type { StepRecord } from '../functions/src/model/step.ts';
import { attend } from '../functions/src/runner/attend.ts';
import { attendRun, startRun } from '../functions/src/runner/runs.ts';
import type { Runtime } from '../functions/src/runner/runtime.ts';
import { ActionRegistry } from '../functions/src/steps/action-registry.ts';
import { createStepRegistry } from '../functions/src/steps/index.ts';
import { noCode } from '../functions/src/testing/no-code.ts';
import { racingAction } from '../functions/src/testing/racing-action.testing.ts';
import { firestorePackage, type Firestore } from './functions-packages.ts';

/**
 * An operator's command and something that happens to the run at the same moment, again and again, on the real emulator. Whatever
 * the order in which the database lets them through: one of them is true, and the answer to the command says which.
 */
const ROUNDS = 120;
const SCENARIOS = 8;
const EACH = ROUNDS / SCENARIOS;
/** A command that queries in its transaction locks more than its own run in the emulator: fewer at once are quicker. */
const AT_ONCE = 2;
const HESITATIONS = 6;
const ACCOUNT = 'races';
const HOUR = 3_600_000;

let db: Firestore;
let runtime: Runtime;
/** The same database two hours later: what waits for an hour is due. */
let later: Runtime;
/** What was done outside, by run. */
const done = new Map<string, number>();

const doing = { id: 'a', type: 'action', action: 'act' };
const after = { id: 'b', type: 'transform', value: 'after {{step.a | default: "nothing"}}' };

beforeAll(async () => {
  const { Firestore: Client } = firestorePackage();
  db = new Client({ projectId: 'demo-kiln', host: inject('firestoreHost'), ssl: false });
  runtime = runtimeAt(0);
  later = runtimeAt(2 * HOUR);
  const publisher = { store: runtime.store, types: runtime.stepTypes, code: { pinned: () => undefined }, now: () => runtime.clock.now() };
  const workflows = {
    act: [doing, after],
    again: [{ ...doing, idempotent: true, retry: { baseMs: 1, capMs: 1, jitter: 'none' } }, after],
    timer: [{ id: 'a', type: 'wait', for: '1h' }, after],
    event: [
      { id: 'a', type: 'wait', event: { name: 'paid', key: '{{workflow_input.key}}' } },
      { id: 'b', type: 'transform', value: '{{step.a.event.payload}}' },
    ],
    late: { deadline: '1h', steps: [{ id: 'a', type: 'wait', for: '5h' }, after] },
  };
  for (const [id, given] of Object.entries(workflows)) {
    const definition = Array.isArray(given) ? { id, steps: given } : { id, ...given };
    await publishWorkflow(publisher, { accountId: ACCOUNT, definition, publishedBy: 'test' });
  }
});

afterAll(async () => {
  await db.terminate();
});

function runtimeAt(offset: number): Runtime {
  const clock = new DatabaseClock(
    () => Date.now(),
    () => offset,
  );
  const store = observed(new FirestoreStore(db), clock);
  let tokens = 0;
  return {
    store,
    clock,
    random: () => 0.5,
    token: () => `t${offset}-${(tokens += 1)}-${Date.now()}`,
    doorbells: { arm: () => Promise.resolve() },
    limitTime: (_ms, work) => work(new AbortController().signal),
    definitions: new StoredDefinitions(store, { pinned: () => undefined }),
    stepTypes: createStepRegistry(),
    services: { actions: new ActionRegistry([racingAction(done)]) },
    code: noCode,
    control: { halted: () => Promise.resolve(false) },
    deliveries: {},
    followers: [],
    observe: () => undefined,
  };
}

const refOf = (runId: string) => ({ accountId: ACCOUNT, runId });

async function begin(workflowId: string, runId: string, input: object = {}): Promise<void> {
  await startRun(runtime, { ...refOf(runId), workflowId, input: input as never, startedBy: { kind: 'user', id: 'u' } });
  await insist(() => attendRun(runtime, refOf(runId)));
}

/** What triggers would do with the steps that are ready. */
async function settle(runId: string, at = runtime): Promise<void> {
  for (;;) {
    const { docs } = await at.store.query(liveSteps(refOf(runId)));
    const ready = docs.map((doc) => stepRecordSchema.parse(doc.data)).filter(({ state, gate }) => state === 'ready' && gate === 'open');
    if (ready.length === 0) return;
    for (const { key } of ready) await insist(() => attend(at, { ...refOf(runId), key }, { kind: 'reconciler' }));
  }
}

/** A trigger that lost against others too often is delivered again. */
async function insist<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      const contention =
        error instanceof StoreConflict || (error instanceof Error && /ABORTED|contention|Transaction lock/.test(error.message));
      if (!contention || tries >= 20) throw error;
    }
  }
}

async function order(runId: string, kind: CommandKind, id: string, more: { stepKey?: string; argument?: object } = {}): Promise<void> {
  const { stepKey, argument } = more;
  const data = commandDocument({
    ...refOf(runId),
    by: 'op',
    at: runtime.clock.now(),
    kind,
    reason: 'race',
    ...(stepKey === undefined ? {} : { stepKey }),
    ...(argument === undefined ? {} : { argument: JSON.stringify(argument) }),
  });
  await runtime.store.commit([{ op: 'create', path: paths.command(ACCOUNT, runId, id), data }]);
  await insist(() => attendCommand(runtime, refOf(runId), id));
}

interface End {
  readonly run: RunRecord;
  readonly steps: ReadonlyMap<string, StepRecord>;
  readonly commands: readonly CommandRecord[];
  readonly completions: number;
}

async function endOf(runId: string, commands: readonly string[]): Promise<End> {
  const wanted = [paths.run(ACCOUNT, runId), paths.completion(ACCOUNT, runId), ...commands.map((id) => paths.command(ACCOUNT, runId, id))];
  const { docs } = await runtime.store.get(wanted);
  const found = await db.collection(paths.steps(ACCOUNT, runId)).get();
  const verified = verifyHistory(await readHistory(runtime.store, paths.historyOf(ACCOUNT, runId)));
  expect(verified.ok, runId).toBe(true);
  return {
    run: runRecordSchema.parse(docs[0]?.data),
    steps: new Map(found.docs.map((doc) => [doc.id, stepRecordSchema.parse(doc.data())])),
    commands: docs.slice(2).map((doc) => commandRecordSchema.parse(doc?.data)),
    completions: docs[1] === undefined ? 0 : 1,
  };
}

/** Runs the rounds; each side gets a head start in some. Returns how often the command was carried out. */
async function rounds(name: string, round: (runId: string, hesitate: (side: 0 | 1) => Promise<void>) => Promise<boolean>): Promise<number> {
  let carriedOut = 0;
  for (let from = 0; from < EACH; from += AT_ONCE) {
    const numbers = Array.from({ length: Math.min(AT_ONCE, EACH - from) }, (_, i) => from + i);
    const results = await Promise.all(
      numbers.map((n) => {
        const runId = `${name}-${n}`;
        const reads = Math.floor(n / 2) % HESITATIONS;
        const hesitate = async (side: 0 | 1): Promise<void> => {
          if (n % 2 !== side) return;
          for (let i = 0; i < reads; i += 1) await runtime.store.get([paths.run(ACCOUNT, runId)]);
        };
        return round(runId, hesitate);
      }),
    );
    carriedOut += results.filter(Boolean).length;
  }
  return carriedOut;
}

const stateOf = ({ steps }: End, key: string): string | undefined => steps.get(key)?.state;

describe('a command races with', { timeout: 480_000 }, () => {
  test('the result of the step under way: pause', async () => {
    await rounds('pause', async (runId, hesitate) => {
      await begin('act', runId);
      const step = async () => (await hesitate(0), insist(() => attend(runtime, { ...refOf(runId), key: 'a' }, { kind: 'reconciler' })));
      const command = async () => (await hesitate(1), order(runId, 'pause', 'p'));
      await Promise.all([step(), command()]);
      const held = await endOf(runId, ['p']);
      expect(held.commands[0]?.status).toBe('done');
      expect(held.run.status).toBe('paused');
      // Nothing has begun after the pause, and every step that lives is held.
      for (const { state, gate } of held.steps.values()) if (['ready', 'waiting'].includes(state)) expect(gate).toBe('paused');
      expect(stateOf(held, 'b') ?? 'ready').toBe('ready');
      await order(runId, 'resume', 'r');
      await settle(runId);
      const end = await endOf(runId, ['p', 'r']);
      expect(end.run.status).toBe('completed');
      expect(done.get(runId)).toBe(1);
      return true;
    });
  });

  test('the result of the step under way: cancel', async () => {
    const cancelled = await rounds('cancel', async (runId, hesitate) => {
      await begin('act', runId);
      const step = async () => {
        await hesitate(0);
        await insist(() => attend(runtime, { ...refOf(runId), key: 'a' }, { kind: 'reconciler' }));
        await settle(runId);
      };
      await Promise.all([step(), hesitate(1).then(() => order(runId, 'cancel', 'c'))]);
      const end = await endOf(runId, ['c']);
      const carriedOut = end.commands[0]?.status === 'done';
      expect(end.run.status).toBe(carriedOut ? 'cancelled' : 'completed');
      expect(end.completions).toBe(1);
      for (const { state } of end.steps.values()) expect(['succeeded', 'cancelled']).toContain(state);
      if (!carriedOut) expect(end.commands[0]).toMatchObject({ status: 'refused', result: 'the run has completed' });
      return carriedOut;
    });
    expect(cancelled).toBeGreaterThan(0);
  });

  test('another command: two cancels, one is carried out', async () => {
    await rounds('twice', async (runId) => {
      await begin('timer', runId);
      await settle(runId);
      await Promise.all([order(runId, 'cancel', 'c1'), order(runId, 'cancel', 'c2')]);
      const end = await endOf(runId, ['c1', 'c2']);
      expect(end.commands.map(({ status }) => status).sort()).toEqual(['done', 'refused']);
      expect(end.run.status).toBe('cancelled');
      return true;
    });
  });

  test('a timer that goes off: skip', async () => {
    await rounds('skip', async (runId, hesitate) => {
      await begin('timer', runId);
      await settle(runId);
      const bell = async () => (await hesitate(0), insist(() => attend(later, { ...refOf(runId), key: 'a' }, { kind: 'reconciler' })));
      const skip = async () => (await hesitate(1), order(runId, 'skip', 's', { stepKey: 'a', argument: { output: 'skipped' } }));
      await Promise.all([bell(), skip()]);
      await settle(runId);
      const end = await endOf(runId, ['s']);
      const carriedOut = end.commands[0]?.status === 'done';
      expect(stateOf(end, 'a')).toBe(carriedOut ? 'skipped' : 'succeeded');
      expect(end.run.status).toBe('completed');
      expect(end.steps.get('b')?.output?.json).toContain(carriedOut ? 'after skipped' : 'wokeAt');
      return carriedOut;
    });
  });

  test('the event itself: override_wait', async () => {
    await rounds('event', async (runId, hesitate) => {
      await begin('event', runId, { key: runId });
      await settle(runId);
      const arrives = async () => {
        await hesitate(0);
        const stored = storePayload({ accountId: ACCOUNT, runId: `e-${runId}` }, '$event', '"real"');
        const event = { eventId: `e-${runId}`, name: 'paid', key: runId, payload: 'real', source: 'test' };
        const record = eventRecord(ACCOUNT, event, stored.payload, runtime.clock.now());
        await runtime.store.commit([{ op: 'create', path: paths.event(ACCOUNT, event.eventId), data: record }]);
        await insist(() => attendEvent(runtime, ACCOUNT, event.eventId));
      };
      const override = async () => (
        await hesitate(1),
        order(runId, 'override_wait', 'o', { stepKey: 'a', argument: { payload: 'supplied' } })
      );
      await Promise.all([arrives(), override()]);
      await settle(runId);
      const end = await endOf(runId, ['o']);
      const carriedOut = end.commands[0]?.status === 'done';
      expect(end.steps.get('b')?.output?.json).toBe(carriedOut ? '"supplied"' : '"real"');
      const { docs } = await runtime.store.get([paths.consumed(ACCOUNT, runId, `e-${runId}`)]);
      expect(docs[0] === undefined).toBe(carriedOut);
      return carriedOut;
    });
  });

  test('another person: one retries what the other settles', async () => {
    await rounds('unsure', async (runId, hesitate) => {
      await begin('act', runId);
      await settle(runId);
      const retry = async () => (await hesitate(0), order(runId, 'retry', 't', { stepKey: 'a' }));
      const settled = async () => (
        await hesitate(1),
        order(runId, 'resolve', 's', { stepKey: 'a', argument: { outcome: 'succeeded', output: 'settled' } })
      );
      await Promise.all([retry(), settled()]);
      await settle(runId);
      const end = await endOf(runId, ['t', 's']);
      expect(end.commands.map(({ status }) => status).sort()).toEqual(['done', 'refused']);
      const retried = end.commands[0]?.status === 'done';
      expect(end.run.status).toBe('completed');
      expect(end.steps.get('a')?.output?.json).toBe(retried ? '"done"' : '"settled"');
      expect(done.get(runId)).toBe(retried ? 2 : 1);
      return true;
    });
  });

  test('the doorbell of the next attempt: retry', async () => {
    await rounds('again', async (runId, hesitate) => {
      await begin('again', runId);
      await settle(runId);
      const bell = async () => (await hesitate(0), insist(() => attend(runtime, { ...refOf(runId), key: 'a' }, { kind: 'reconciler' })));
      await Promise.all([bell(), hesitate(1).then(() => order(runId, 'retry', 't', { stepKey: 'a' }))]);
      await settle(runId);
      const end = await endOf(runId, ['t']);
      expect(end.run.status).toBe('completed');
      // Two attempts in all, whoever brought the second about.
      expect(done.get(runId)).toBe(2);
      expect(end.steps.get('a')?.attempt).toBe(2);
      return end.commands[0]?.status === 'done';
    });
  });

  test('the deadline: extend_deadline', async () => {
    await rounds('late', async (runId, hesitate) => {
      await begin('late', runId);
      await settle(runId);
      const expires = async () => (await hesitate(0), insist(() => attendRun(later, refOf(runId))));
      const extend = async () => (await hesitate(1), order(runId, 'extend_deadline', 'x', { argument: { by: '5h' } }));
      await Promise.all([expires(), extend()]);
      const end = await endOf(runId, ['x']);
      const carriedOut = end.commands[0]?.status === 'done';
      // Extended in time, it goes on; else it has failed, and the command says so.
      if (end.run.status === 'running') expect(carriedOut).toBe(true);
      else expect(end.run).toMatchObject({ status: 'failed', error: { code: 'run.deadline' } });
      if (!carriedOut) expect(end.commands[0]?.result).toBe('the run has failed');
      return carriedOut;
    });
  });
});
