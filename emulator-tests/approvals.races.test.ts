import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { decideApproval, expireApproval } from '../functions/src/ledger/approvals.ts';
import { DatabaseClock, observed } from '../functions/src/ledger/clock.ts';
import { endRun } from '../functions/src/ledger/end-run.ts';
import { FirestoreStore } from '../functions/src/ledger/firestore-store.ts';
import { readHistory, verifyHistory } from '../functions/src/ledger/history.ts';
import { MemoryStore } from '../functions/src/ledger/memory-store.ts';
import type { Snapshot, Write } from '../functions/src/ledger/store.ts';
import { StoreConflict } from '../functions/src/ledger/store.ts';
import type { ApprovalRecord, VerdictRecord } from '../functions/src/model/approval.ts';
import { decisionDocument } from '../functions/src/model/client-documents.ts';
import { paths } from '../functions/src/model/paths.ts';
import type { Runtime } from '../functions/src/runner/runtime.ts';
import { approvalOf, begin, hire, officeRuntime, runOf, stepOf, submit, verdictOn } from '../functions/src/testing/office.ts';
import { ACCOUNT, person } from '../functions/src/testing/person.ts';
import { firestorePackage, type Firestore } from './functions-packages.ts';
import { RulesClient, SERVER_TIME } from './rules/client.ts';

/**
 * Two things happen to one request at the same moment, again and again, on the real emulator. Whatever the order in which the
 * database lets them through: one outcome, one next step, and everybody whose answer did not count is told why.
 */
const ROUNDS = 200;
/** Rounds under way at once: the emulator lets a transaction that lost its locks wait for a second. */
const AT_ONCE = 40;
/** Cancelling queries inside its transaction, which locks more than one run in the emulator. */
const CANCELS_AT_ONCE = 12;
const ALONE = 60;
const HESITATIONS = 10;
const HOUR = 3_600_000;
const PROJECT = 'demo-kiln';

let db: Firestore;
let runtime: Runtime;
/** The same database, looked at an hour later: every deadline of these requests has passed. */
let later: Runtime;

const ask = {
  type: 'approval',
  id: 'ask',
  title: 'Pay Muster AG',
  approvers: { roles: ['approver'] },
  deadline: '1h',
  onException: { '*': [{ id: 'sorry', type: 'transform', value: 'sorry' }] },
};
const after = { id: 'after', type: 'transform', value: 'paid' };
const definitions = {
  any: [ask, after],
  two: [{ ...ask, quorum: { quorum: 2 } }, after],
  all: [{ ...ask, quorum: 'all' }, after],
};
const people = ['ada', 'bob', 'cleo'];

beforeAll(async () => {
  const { Firestore: Client } = firestorePackage();
  db = new Client({ projectId: PROJECT, host: inject('firestoreHost'), ssl: false });
  runtime = runtimeAt(() => 0);
  later = runtimeAt(() => 2 * HOUR);
  await hire(
    runtime.store,
    people.map((uid) => person(uid)),
  );
});

afterAll(async () => {
  await db.terminate();
});

function runtimeAt(offset: () => number): Runtime {
  const clock = new DatabaseClock(() => Date.now(), offset);
  const doorbells = { arm: () => Promise.resolve() };
  return officeRuntime({ store: observed(new FirestoreStore(db), clock), clock, doorbells }, definitions);
}

/** What one real run leaves in the database when it waits for its request. */
async function template(workflowId: string): Promise<readonly Snapshot[]> {
  const clock = new DatabaseClock(() => Date.now());
  const memory = new MemoryStore(() => Date.now());
  const local = officeRuntime({ store: memory, clock, doorbells: { arm: () => Promise.resolve() } }, definitions);
  await hire(
    memory,
    people.map((uid) => person(uid)),
  );
  await begin(local, workflowId, { runId: 'TEMPLATE' });
  const { approvalId } = await approvalOf(memory, 'TEMPLATE');
  const kept = [...memory.all()].filter(({ path }) => /\/(runs|approvals)\//.test(path));
  return JSON.parse(JSON.stringify(kept).replaceAll(approvalId, 'approval-TEMPLATE')) as readonly Snapshot[];
}

/** Many runs that wait for their request, as copies of one. */
async function waiting(workflowId: string, race: string, rounds: number): Promise<readonly string[]> {
  const kept = await template(workflowId);
  const runIds = Array.from({ length: rounds }, (_, i) => `${race}-${i}`);
  for (let i = 0; i < runIds.length; i += 50) {
    const writes = runIds.slice(i, i + 50).flatMap((runId): Write[] =>
      kept.map((document) => {
        const { path, data } = JSON.parse(JSON.stringify(document).replaceAll('TEMPLATE', runId)) as Snapshot;
        return { op: 'set', path, data };
      }),
    );
    await runtime.store.commit(writes);
  }
  return runIds;
}

async function inRounds<T>(runIds: readonly string[], round: (runId: string) => Promise<T>, atOnce = AT_ONCE): Promise<readonly T[]> {
  const results: T[] = [];
  for (let i = 0; i < runIds.length; i += atOnce) results.push(...(await Promise.all(runIds.slice(i, i + atOnce).map(round))));
  return results;
}

const ref = (runId: string) => ({ accountId: ACCOUNT, approvalId: `approval-${runId}` });
const requestOf = async (runId: string): Promise<ApprovalRecord> => approvalOf(runtime.store, runId);

/** A head start for the other side, longer from round to round, so that each side comes first in some. */
async function hesitate(runId: string): Promise<void> {
  for (let reads = Number(runId.split('-').at(-1)) % HESITATIONS; reads > 0; reads -= 1)
    await runtime.store.get([paths.run(ACCOUNT, runId)]);
}

/** A person submits, and the decision's trigger fires. */
async function answer(runId: string, by: string, outcome: string): Promise<void> {
  await hesitate(runId);
  await submit(runtime.store, await requestOf(runId), by, outcome, { comment: 'because' });
  await untilNoConflict(() => decideApproval(runtime, { ...ref(runId), uid: by }));
}

/** A trigger that lost against others too often is delivered again; a browser's SDK tries again, too. */
async function untilNoConflict<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      const contention =
        error instanceof StoreConflict || (error instanceof Error && /ABORTED|contention|Transaction lock timeout/.test(error.message));
      if (!contention || tries >= 20) throw error;
    }
  }
}

interface End {
  readonly request: ApprovalRecord;
  readonly step: string | undefined;
  /** Steps that came after: the next one, or that of the exception path. */
  readonly next: readonly string[];
  readonly verdicts: readonly (VerdictRecord | undefined)[];
  readonly pending: number;
  readonly run: string;
}

async function endOf(runId: string, voters: readonly string[]): Promise<End> {
  const request = await requestOf(runId);
  const step = await stepOf(runtime.store, runId, 'ask');
  const next = [(await stepOf(runtime.store, runId, 'after'))?.key, (await stepOf(runtime.store, runId, 'ask.onException.sorry'))?.key];
  const verdicts = await Promise.all(voters.map((uid) => verdictOn(runtime.store, request, uid)));
  const run = await runOf(runtime.store, runId);
  return {
    request,
    step: step?.state,
    next: next.filter((key) => key !== undefined),
    verdicts,
    pending: run.pendingApprovals,
    run: run.status,
  };
}

function expectOneEnd({ request, step, next, pending }: End): void {
  expect(request.status).toBe('decided');
  expect(step).toBe(request.outcome === 'approve' ? 'succeeded' : 'failed');
  expect(next).toEqual([request.outcome === 'approve' ? 'after' : 'ask.onException.sorry']);
  expect(pending).toBe(0);
}

/** Both ends were seen, or the two sides never met. */
function expectBoth(ends: readonly End[], one: string, other: string): void {
  const kinds = countBy(ends, ({ request }) => request.status);
  expect(kinds[one]).toBeGreaterThan(0);
  expect(kinds[other]).toBeGreaterThan(0);
  expect((kinds[one] ?? 0) + (kinds[other] ?? 0)).toBe(ROUNDS);
}

const countBy = <T>(list: readonly T[], key: (one: T) => string): Record<string, number> =>
  list.reduce<Record<string, number>>((counts, one) => ({ ...counts, [key(one)]: (counts[key(one)] ?? 0) + 1 }), {});

describe('at the same moment', () => {
  test(
    `A5 two approvers decide differently, ${ROUNDS} rounds: one decision stands, the other is told whose`,
    { timeout: 480_000 },
    async () => {
      const ends = await inRounds(await waiting('any', 'two-approvers', ROUNDS), async (runId) => {
        await Promise.all([answer(runId, 'ada', 'approve'), answer(runId, 'bob', 'reject')]);
        return endOf(runId, ['ada', 'bob']);
      });
      for (const end of ends) {
        expectOneEnd(end);
        const winner = end.request.decidedBy?.[0];
        const loser = end.verdicts.find((verdict) => verdict?.by !== winner);
        expect(end.verdicts.find((verdict) => verdict?.by === winner)).toMatchObject({ accepted: true });
        expect(loser).toMatchObject({
          accepted: false,
          reason: expect.stringMatching(/^already decided by (Ada|Bob) \((approve|reject)\) at \d{4}-/),
        });
      }
      expect(ends).toHaveLength(ROUNDS);
    },
  );

  test(
    `A6 an approver and the deadline, ${ROUNDS} rounds: decided or expired, never both, and the approver is told`,
    { timeout: 480_000 },
    async () => {
      const ends = await inRounds(await waiting('any', 'deadline', ROUNDS), async (runId) => {
        await Promise.all([
          answer(runId, 'ada', 'approve'),
          untilNoConflict(() => expireApproval(later, { accountId: ACCOUNT, runId, key: 'ask' }, ref(runId).approvalId)),
        ]);
        return endOf(runId, ['ada']);
      });
      for (const end of ends) {
        if (end.request.status === 'decided') {
          expectOneEnd(end);
          expect(end.verdicts[0]).toMatchObject({ accepted: true });
        } else {
          expect(end).toMatchObject({ request: { status: 'expired' }, step: 'failed', next: ['ask.onException.sorry'], pending: 0 });
          expect(end.verdicts[0]).toMatchObject({ accepted: false, reason: expect.stringContaining('the deadline passed') });
        }
      }
      expectBoth(ends, 'decided', 'expired');
    },
  );

  test(
    `a decision and a cancel, ${ROUNDS} rounds: the run is cancelled, and the request was decided before or withdrawn`,
    { timeout: 480_000 },
    async () => {
      const runIds = await waiting('any', 'cancel', ROUNDS);
      const round = async (runId: string): Promise<End> => {
        const cancel = async (): Promise<void> => void (await endRun(runtime, { accountId: ACCOUNT, runId }, { status: 'cancelled' }));
        await Promise.all([answer(runId, 'ada', 'approve'), untilNoConflict(cancel)]);
        return endOf(runId, ['ada']);
      };
      // Side by side, cancels wait for each other's locks and come second; one after the other, they come first as well.
      const crowded = await inRounds(runIds.slice(ALONE), round, CANCELS_AT_ONCE);
      const ends = [...crowded, ...(await inRounds(runIds.slice(0, ALONE), round, 1))];
      for (const end of ends) {
        expect(end).toMatchObject({ run: 'cancelled', pending: 0 });
        if (end.request.status === 'decided') {
          expect(end).toMatchObject({ step: 'succeeded', next: ['after'] });
          expect(end.verdicts[0]).toMatchObject({ accepted: true });
        } else {
          expect(end).toMatchObject({ request: { status: 'cancelled' }, step: 'cancelled', next: [] });
          expect(end.verdicts[0]).toMatchObject({ accepted: false, reason: expect.stringContaining('withdrawn') });
        }
      }
      expectBoth(ends, 'decided', 'cancelled');
    },
  );

  test(`A5 the last two of a quorum, ${ROUNDS} rounds: it is reached once, and nobody waits for ever`, { timeout: 480_000 }, async () => {
    const ends = await inRounds(await waiting('two', 'quorum', ROUNDS), async (runId) => {
      await answer(runId, 'ada', 'approve');
      await Promise.all([answer(runId, 'bob', 'approve'), answer(runId, 'cleo', 'approve')]);
      return endOf(runId, people);
    });
    for (const end of ends) {
      expectOneEnd(end);
      expect(end.request.decidedBy).toHaveLength(2);
      expect(end.verdicts.filter((verdict) => verdict?.accepted === true)).toHaveLength(2);
      expect(end.verdicts.find((verdict) => verdict?.accepted === false)).toMatchObject({
        reason: expect.stringContaining('already decided by Ada, '),
      });
    }
    expect(ends).toHaveLength(ROUNDS);
  });

  test('A5 the last two of "all", 100 rounds: it ends once, with both', { timeout: 480_000 }, async () => {
    const ends = await inRounds(await waiting('all', 'all', 100), async (runId) => {
      await answer(runId, 'ada', 'approve');
      await Promise.all([answer(runId, 'bob', 'approve'), answer(runId, 'cleo', 'approve')]);
      return endOf(runId, people);
    });
    for (const end of ends) {
      expectOneEnd(end);
      expect([...(end.request.decidedBy ?? [])].sort()).toEqual(people);
      expect(end.verdicts.every((verdict) => verdict?.accepted === true)).toBe(true);
    }
  });

  test('A5 one person in two tabs, 100 rounds: the first answer is the answer', { timeout: 480_000 }, async () => {
    const ends = await inRounds(await waiting('any', 'tabs', 100), async (runId) => {
      const both = await Promise.allSettled([answer(runId, 'ada', 'approve'), answer(runId, 'ada', 'reject')]);
      return { ...(await endOf(runId, ['ada'])), refused: both.filter(({ status }) => status === 'rejected').length };
    });
    for (const end of ends) {
      expectOneEnd(end);
      expect(end.refused).toBe(1);
    }
  });

  test('A6 a person under the rules and the deadline, 150 rounds: never both', { timeout: 480_000 }, async () => {
    const client = new RulesClient(inject('firestoreHost'), PROJECT);
    const ends = await inRounds(await waiting('any', 'under-rules', 150), async (runId) => {
      const { digest } = await requestOf(runId);
      const { at: _at, ...decision } = decisionDocument({ ...ref(runId), by: 'ada', outcome: 'approve', digest, at: 0 }) as { at: unknown };
      const doc = { ...decision, at: SERVER_TIME };
      const [submitted] = await Promise.all([
        untilNoConflict(() => client.allows('ada', { verb: 'create', path: paths.decision(ACCOUNT, ref(runId).approvalId, 'ada'), doc })),
        untilNoConflict(() => expireApproval(later, { accountId: ACCOUNT, runId, key: 'ask' }, ref(runId).approvalId)),
      ]);
      if (submitted) await untilNoConflict(() => decideApproval(runtime, { ...ref(runId), uid: 'ada' }));
      return { ...(await endOf(runId, ['ada'])), submitted };
    });
    const kinds = countBy(ends, ({ request, submitted }) => `${request.status}, ${submitted ? 'submitted' : 'refused by the rules'}`);
    for (const end of ends) {
      if (end.request.status === 'decided') expectOneEnd(end);
      else expect(end).toMatchObject({ request: { status: 'expired' }, step: 'failed', next: ['ask.onException.sorry'], pending: 0 });
      // A decision that was let in counts, unless the deadline's transaction had not seen it: then its maker is told.
      expect(end.verdicts[0]?.accepted).toBe(end.submitted ? end.request.status === 'decided' : undefined);
    }
    expect(Object.values(kinds).reduce((sum, n) => sum + n, 0)).toBe(150);
    expect(kinds['decided, refused by the rules']).toBeUndefined();
  });
});

test('the histories that these races wrote still hold', async () => {
  for (const race of ['two-approvers', 'deadline', 'cancel', 'quorum']) {
    for (const round of [0, 50, 199]) {
      const entries = await readHistory(runtime.store, paths.historyOf(ACCOUNT, `${race}-${round}`));
      expect(verifyHistory(entries)).toMatchObject({ ok: true });
    }
  }
});
