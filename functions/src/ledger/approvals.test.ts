import { beforeEach, describe, expect, test } from 'vitest';
import { digest } from '../engine/json.ts';
import type { MemberRecord } from '../model/member.ts';
import { notificationRecordSchema, outboxRecordSchema } from '../model/outbox.ts';
import { paths } from '../model/paths.ts';
import { stepRecordSchema } from '../model/step.ts';
import { attend } from '../runner/attend.ts';
import { attendCompletion, attendRun } from '../runner/runs.ts';
import { runRecordSchema } from '../model/run.ts';
import { MemoryHost } from '../testing/memory-host.ts';
import { approvalOf, approvalsOf, hire, officeRuntime, runOf, stepOf, submit, verdictOn } from '../testing/office.ts';
import { ACCOUNT, person } from '../testing/person.ts';
import { startRun } from '../runner/runs.ts';
import { reconcile } from '../timers/reconciler.ts';
import { handleRequest } from '../triggers/http.ts';
import { decideApproval, settleApproval } from './approvals.ts';
import { endRun } from './end-run.ts';
import { claimApproval, reassignApproval, releaseApproval } from './handover.ts';
import { readHistory, verifyHistory } from './history.ts';
import { changeMember, delegate, endDelegation } from './members.ts';
import { loadPayload } from './payloads.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = 1_800_000_000_000;

let host: MemoryHost;
/** As if the trigger of every decision got lost. */
let deaf = false;

function office(definitions: Readonly<Record<string, unknown>>): MemoryHost {
  return new MemoryHost({
    now: START,
    ring: (runtime, ref, hop) => attend(runtime, ref, { kind: 'doorbell', hop }),
    routes: {
      steps: (runtime, { data }) => attend(runtime, stepRecordSchema.parse(data), { kind: 'trigger' }),
      runs: (runtime, { data }) => attendRun(runtime, runRecordSchema.parse(data)),
      completions: (runtime, { data }) => attendCompletion(runtime, { accountId: String(data['accountId']), runId: String(data['runId']) }),
      decisions: (runtime, { path, id }) =>
        deaf ? Promise.resolve() : decideApproval(runtime, { accountId: ACCOUNT, approvalId: path.split('/')[3] ?? '', uid: id }),
    },
    runtime: (base) => officeRuntime(base, definitions),
  });
}

const ask = { type: 'approval', id: 'ask', title: 'Pay Muster AG', approvers: { roles: ['approver'] } };

async function open(
  step: object,
  people: readonly MemberRecord[] = [person('ada'), person('bob'), person('starter')],
  after: readonly object[] = [],
): Promise<void> {
  host = office({ pay: [{ ...ask, ...step }, ...after] });
  await hire(host.store, people);
  await start('pay');
}

async function start(workflowId: string, runId = 'r1', by = 'starter'): Promise<void> {
  await startRun(host.runtime, { accountId: ACCOUNT, workflowId, runId, input: null, startedBy: { kind: 'user', id: by } });
  await host.settle();
}

async function decide(by: string, outcome: string, fields: Parameters<typeof submit>[4] = {}): Promise<void> {
  await submit(host.store, await approvalOf(host.store, 'r1'), by, outcome, fields);
  await host.settle();
}

const request = async () => approvalOf(host.store, 'r1');
const step = async (key = 'ask') => stepOf(host.store, 'r1', key);
const run = async () => runOf(host.store, 'r1');
const verdict = async (uid: string) => verdictOn(host.store, await request(), uid);
const output = async (key = 'ask') => {
  const record = await step(key);
  return record?.output === undefined
    ? undefined
    : (JSON.parse(await loadPayload(host.store, record, record.output)) as Record<string, never>);
};
const notices = () =>
  [...host.store.all()].filter(({ path }) => path.includes('/notifications/')).map(({ data }) => notificationRecordSchema.parse(data));
const mails = () => [...host.store.all()].filter(({ path }) => path.includes('/outbox/')).map(({ data }) => outboxRecordSchema.parse(data));
const history = () => readHistory(host.store, paths.historyOf(ACCOUNT, 'r1'));

beforeEach(() => {
  deaf = false;
  host = office({});
});

describe('a request', () => {
  test('asks those who fit, but not the starter, and tells each of them once', async () => {
    await open({ effect: 'pays CHF 4 200' });
    const approval = await request();
    expect(approval).toMatchObject({
      status: 'pending',
      eligible: ['ada', 'bob'],
      startedBy: 'starter',
      fourEyes: true,
      deadlineAt: START + 7 * DAY,
    });
    expect(approval.digest).toBe(digest(approval.shown.json ?? ''));
    expect(notices().map(({ to, kind }) => [to, kind])).toEqual([
      ['ada', 'approval'],
      ['bob', 'approval'],
    ]);
    expect(mails().map(({ to, link }) => [to, link])).toEqual([
      ['ada@acme.example', `/approvals/acme/${approval.approvalId}`],
      ['bob@acme.example', `/approvals/acme/${approval.approvalId}`],
    ]);
    expect((await run()).pendingApprovals).toBe(1);
    expect(await step()).toMatchObject({
      state: 'waiting',
      wait: { kind: 'approval', approvalId: approval.approvalId },
      wakeAt: START + 7 * DAY,
    });
  });

  test('takes the starter of the root run for the starter of a child run', async () => {
    host = office({ parent: [{ id: 'sub', type: 'subworkflow', workflow: 'pay' }], pay: [ask] });
    await hire(host.store, [person('ada'), person('starter')]);
    await start('parent');
    const [found] = [...host.store.all()].filter(({ path }) => /approvals\/[^/]+$/.test(path));
    expect(found?.data).toMatchObject({ startedBy: 'starter', eligible: ['ada'] });
  });

  test('does not let the first starter of a forked run decide on it, nor the one who forked it', async () => {
    host = office({ pay: [{ id: 'hold', type: 'wait', for: '1d' }, ask] });
    await hire(host.store, [person('ada'), person('forker'), person('starter')]);
    await start('pay', 'r0', 'starter');
    await start('pay', 'r1', 'forker');
    await host.store.commit([{ op: 'update', path: paths.run(ACCOUNT, 'r1'), data: { forkedFrom: { runId: 'r0', stepKey: 'hold' } } }]);
    await host.advance(DAY);
    expect(await request()).toMatchObject({ startedBy: 'forker', alsoStartedBy: ['starter'], eligible: ['ada'] });
    await decide('starter', 'approve');
    expect(await verdict('starter')).toMatchObject({ accepted: false });
  });

  test.each([
    ['nobody fits', { approvers: { roles: ['operator'] } }, 'approval.no_eligible'],
    ['only the starter fits', { approvers: { users: ['starter'] } }, 'approval.no_eligible'],
    ['the quorum is larger than the number of people', { quorum: { quorum: 3 } }, 'approval.no_eligible'],
    [
      'a group is empty',
      { quorum: { groups: [{ name: 'legal', approvers: { departments: ['legal'] }, min: 1 }] } },
      'approval.no_eligible',
    ],
    ['the values do not fit the form', { form: { type: 'object', required: ['amount'] }, values: {} }, 'schema.mismatch'],
    ['a link is a script', { evidence: [{ kind: 'links', links: [{ label: 'x', url: 'javascript:alert(1)' }] }] }, 'request.invalid'],
  ])('fails at once when %s', async (_when, fields, code) => {
    await open(fields);
    expect(await step()).toMatchObject({ state: 'failed', error: { code } });
    expect(await approvalsOf(host.store, 'r1')).toEqual([]);
  });

  test('may name people by e-mail address, and let the starter decide', async () => {
    await open({ approvers: { users: ['ADA@acme.example', 'starter'] }, fourEyes: false });
    expect((await request()).eligible).toEqual(['ada', 'starter']);
  });

  test('that is sensitive keeps what it shows in parts that carry the request’s id', async () => {
    await open({ sensitive: true, evidence: [{ kind: 'text', text: 'salary' }] });
    const approval = await request();
    expect(approval.shown.json).toBeUndefined();
    const part = [...host.store.all()].find(({ path }) => path.includes('/payloads/ask~shown~'));
    expect(part?.data).toMatchObject({ sensitive: true, approvalId: approval.approvalId });
    await decide('ada', 'approve', { comment: 'earns too little' });
    expect(await step()).toMatchObject({ state: 'succeeded' });
    expect(JSON.stringify([await history(), notices(), mails()])).not.toContain('earns too little');
  });
});

describe('a link in a mail', () => {
  test('A10 decides nothing, however it is opened, and still works for the person', async () => {
    await open({});
    const before = JSON.stringify([...host.store.all()]);
    for (const { link = '', body } of mails()) {
      // It names the request and nothing that could decide: no outcome, no token.
      expect(link).toBe(`/approvals/${ACCOUNT}/${(await request()).approvalId}`);
      expect(body).not.toContain('http');
      for (const method of ['GET', 'HEAD', 'POST']) {
        for (const path of [link, `/http${link}`, `/hooks${link}`]) {
          const answered = await visit(method, path);
          expect(answered).toBeGreaterThanOrEqual(400);
        }
      }
    }
    expect(JSON.stringify([...host.store.all()])).toBe(before);
    await decide('ada', 'approve');
    expect(await request()).toMatchObject({ status: 'decided' });
  });

  async function visit(method: string, path: string): Promise<number> {
    let status = 0;
    const response = { status: (code: number) => ((status = code), response), set: () => response, json: () => response };
    const request = { method, path, headers: {}, rawBody: Buffer.from('') };
    await handleRequest(host.runtime, request as never, response as never);
    return status;
  }
});

describe('a decision', () => {
  test('ends the step with who, what, when and on which content', async () => {
    await open({}, undefined, [{ id: 'after', type: 'transform', value: '{{step.ask.outcome}}' }]);
    await host.advance(2 * HOUR);
    await decide('ada', 'approve', { comment: 'fine' });
    const approval = await request();
    expect(approval).toMatchObject({
      status: 'decided',
      outcome: 'approve',
      decidedBy: ['ada'],
      decidedByNames: ['Ada'],
      endedAt: START + 2 * HOUR,
    });
    expect(await output()).toEqual({
      outcome: 'approve',
      byDeadline: false,
      decisions: [{ by: 'ada', name: 'Ada', outcome: 'approve', comment: 'fine', at: START + 2 * HOUR, digest: approval.digest }],
      values: null,
      digest: approval.digest,
      requestedAt: START,
      decidedAt: START + 2 * HOUR,
      waitedMs: 2 * HOUR,
    });
    expect(await run()).toMatchObject({ status: 'completed', pendingApprovals: 0 });
    expect(
      notices()
        .filter(({ kind }) => kind === 'decided')
        .map(({ to }) => to),
    ).toEqual(['starter']);
    expect(host.store.peek(paths.decision(ACCOUNT, approval.approvalId, 'ada'))?.data['due']).toBeUndefined();
  });

  test('that comes late is told who decided and when', async () => {
    await open({});
    await decide('ada', 'approve');
    await host.advance(MINUTE);
    await decide('bob', 'reject', { comment: 'no' });
    expect(await verdict('bob')).toMatchObject({ accepted: false, reason: 'already decided by Ada (approve) at 2027-01-15 08:00:00 UTC' });
    expect(await request()).toMatchObject({ status: 'decided', outcome: 'approve' });
  });

  test.each([
    ['on other content', 'ada', 'approve', { digest: 'f'.repeat(64) }, 'other content'],
    ['with an outcome that was not offered', 'ada', 'maybe', {}, 'not among the outcomes'],
    ['to reject without a comment', 'ada', 'reject', { comment: '  ' }, 'needs a comment'],
    ['with corrections that were not asked for', 'ada', 'approve', { values: '{}' }, 'takes no corrections'],
    ['by the starter', 'starter', 'approve', {}, 'four-eyes'],
    ['by a stranger', 'mallory', 'approve', {}, 'not a member'],
    ['by a member who was not asked', 'vera', 'approve', {}, 'not among those who were asked'],
  ])('%s is kept and does not count', async (_how, by, outcome, fields, reason) => {
    await open({}, [person('ada'), person('starter'), person('vera', { roles: ['viewer'] })]);
    await decide(by, outcome, fields);
    expect(await verdict(by)).toMatchObject({ accepted: false, seats: [], reason: expect.stringContaining(reason) });
    expect(await request()).toMatchObject({ status: 'pending' });
    expect((await history()).at(-1)).toMatchObject({ kind: 'decision_refused', by });
  });

  test('delivered again changes nothing', async () => {
    await open({});
    await decide('ada', 'approve');
    const before = [...host.store.all()].length;
    const approval = await request();
    await decideApproval(host.runtime, { accountId: ACCOUNT, approvalId: approval.approvalId, uid: 'ada' });
    await settleApproval(host.runtime, { accountId: ACCOUNT, approvalId: 'nowhere' });
    expect([...host.store.all()].length).toBe(before);
    expect(await run()).toMatchObject({ pendingApprovals: 0 });
  });

  test('approving A never executes B: content that was changed after the request refuses every decision', async () => {
    await open({ effect: 'pays CHF 10' }, undefined, [{ id: 'pay', type: 'transform', value: 'paid' }]);
    const approval = await request();
    const path = paths.approval(ACCOUNT, approval.approvalId);
    const forged = (approval.shown.json ?? '').replace('CHF 10', 'CHF 10000');
    await host.store.commit([{ op: 'update', path, data: { shown: { ...approval.shown, json: forged } } }]);
    await submit(host.store, approval, 'ada', 'approve');
    await host.settle();
    expect(await verdict('ada')).toMatchObject({ accepted: false, reason: expect.stringContaining('other content') });
    // With a digest that fits the forged content, a decision on the old one is refused, too.
    await host.store.commit([{ op: 'update', path, data: { digest: digest(forged) } }]);
    await submit(host.store, approval, 'bob', 'approve');
    await host.settle();
    expect(await verdict('bob')).toMatchObject({ accepted: false });
    expect(await step('pay')).toBeUndefined();
  });

  test('may correct the values within the form, and those are what counts', async () => {
    const form = {
      type: 'object',
      properties: { amount: { type: 'number', maximum: 100 } },
      required: ['amount'],
      additionalProperties: false,
    };
    await open({ form, values: { amount: 10 } }, undefined, [{ id: 'pay', type: 'transform', value: '{{step.ask.values.amount}}' }]);
    await decide('ada', 'approve', { values: '{"amount": 1000}' });
    expect(await verdict('ada')).toMatchObject({ accepted: false, reason: expect.stringContaining('do not fit the form') });
    await decide('bob', 'approve', { values: '{ "amount": 12 }' });
    expect(await output()).toMatchObject({ values: { amount: 12 } });
    expect(await output('pay')).toBe(12);
  });

  test('of two who approve different values is not agreement', async () => {
    const form = { type: 'object' };
    await open({ form, values: { amount: 10 }, quorum: { quorum: 2 } }, [person('ada'), person('bob'), person('cleo'), person('starter')]);
    await decide('ada', 'approve', { values: '{"amount":12}' });
    await decide('bob', 'approve');
    expect(await request()).toMatchObject({ status: 'pending' });
    await decide('cleo', 'approve', { values: '{ "amount": 12 }' });
    expect(await request()).toMatchObject({ status: 'decided', decidedBy: ['ada', 'cleo'] });
    expect(await output()).toMatchObject({ values: { amount: 12 } });
  });

  test('made while the kill switch is on is judged when it is off again', async () => {
    await open({});
    const halted = { ...host.runtime, control: { halted: () => Promise.resolve(true) } };
    deaf = true;
    await decide('ada', 'approve');
    const { approvalId } = await request();
    await decideApproval(halted, { accountId: ACCOUNT, approvalId, uid: 'ada' });
    expect(await request()).toMatchObject({ status: 'pending' });
    await reconcile(host.runtime);
    expect(await request()).toMatchObject({ status: 'decided' });
  });

  test('while the run is paused counts, and the next step waits for the operator', async () => {
    await open({}, undefined, [{ id: 'after', type: 'transform', value: 1 }]);
    await host.store.commit([{ op: 'update', path: paths.step(ACCOUNT, 'r1', 'ask'), data: { gate: 'paused' } }]);
    await decide('ada', 'approve');
    expect(await step()).toMatchObject({ state: 'succeeded' });
    expect(await step('after')).toMatchObject({ state: 'ready', gate: 'paused' });
  });
});

describe('a rejection', () => {
  test('is a business exception with a path of its own', async () => {
    await open({ onException: { rejected: [{ id: 'tell', type: 'transform', value: '{{step.ask.decisions[0].comment}}' }] } });
    await decide('ada', 'reject', { comment: 'too expensive' });
    expect(await step()).toMatchObject({ state: 'failed', error: { code: 'rejected', class: 'business' } });
    expect(await output('ask.onException.tell')).toBe('too expensive');
    expect(await run()).toMatchObject({ status: 'completed' });
  });

  test('without a path fails the run with its reason', async () => {
    await open({});
    await decide('ada', 'reject', { comment: 'too expensive' });
    expect(await run()).toMatchObject({
      status: 'failed',
      error: { code: 'rejected', message: '"Pay Muster AG" was decided by Ada: reject (too expensive)' },
    });
  });

  test('is an outcome like any other with onReject: continue', async () => {
    await open({ onReject: 'continue' });
    await decide('ada', 'reject', { comment: 'no' });
    expect(await step()).toMatchObject({ state: 'succeeded' });
    expect(await output()).toMatchObject({ outcome: 'reject' });
  });

  test('does not silence the others when all are to be heard', async () => {
    await open({ rejection: 'collect', quorum: { quorum: 2 }, outcomes: ['approve', 'reject', 'request_changes'] }, [
      person('ada'),
      person('bob'),
      person('cleo'),
    ]);
    await decide('ada', 'reject', { comment: 'a' });
    await decide('bob', 'request_changes', { comment: 'b' });
    expect(await request()).toMatchObject({ status: 'pending' });
    await decide('cleo', 'request_changes', { comment: 'c' });
    expect(await request()).toMatchObject({ status: 'decided', outcome: 'request_changes', decidedBy: ['bob', 'cleo'] });
    expect(await step()).toMatchObject({ error: { code: 'request_changes' } });
    expect((await output())?.['decisions']).toHaveLength(3);
  });
});

describe('time', () => {
  test('reminds, passes on and ends over weeks, and each letter is written once', async () => {
    await open(
      {
        approvers: { users: ['ada'] },
        deadline: '30d',
        reminders: ['1d', '3d', '21d'],
        escalation: [
          { after: '7d', approvers: { users: ['bob'] } },
          { after: '14d', approvers: { roles: ['admin'] } },
        ],
      },
      [person('ada'), person('bob'), person('head', { roles: ['admin'] }), person('starter')],
    );
    await host.advance(40 * DAY);
    const sent = notices().map(({ kind, to, createdAt }) => [kind, to, (createdAt - START) / DAY]);
    expect(sent).toEqual([
      ['approval', 'ada', 0],
      ['reminder', 'ada', 1],
      ['reminder', 'ada', 3],
      ['escalation', 'bob', 7],
      ['escalation', 'head', 14],
      ['reminder', 'ada', 21],
      ['reminder', 'bob', 21],
      ['reminder', 'head', 21],
      ['decided', 'starter', 30],
    ]);
    expect(mails()).toHaveLength(sent.length);
    expect(await request()).toMatchObject({ status: 'expired', level: 2, endedAt: START + 30 * DAY });
    expect(await step()).toMatchObject({ state: 'failed', error: { code: 'approval.expired' } });
  });

  test('that nobody looked after for weeks is made up for with one reminder', async () => {
    await open({ approvers: { users: ['ada'] }, deadline: '60d', reminders: ['1d', '2d', '3d'] });
    // Three reminders overdue: as when no doorbell rang and no reconciler ran.
    const quiet = await step();
    await host.store.commit([{ op: 'update', path: paths.step(ACCOUNT, 'r1', 'ask'), data: { wakeAt: START + 10 * DAY } }]);
    await host.advance(10 * DAY);
    await attend(host.runtime, quiet ?? expect.unreachable(), { kind: 'reconciler' });
    expect(notices().filter(({ kind }) => kind === 'reminder')).toHaveLength(1);
    expect(await step()).toMatchObject({ state: 'waiting', wakeAt: START + 60 * DAY });
  });

  test.each([
    ['approve', 'succeeded', undefined, 'approve'],
    ['reject', 'failed', 'rejected', 'reject'],
    ['fail', 'failed', 'approval.expired', undefined],
  ])('A13 the deadline with onDeadline %s', async (onDeadline, state, code, outcome) => {
    await open({ onDeadline, deadline: '2h' });
    await host.advance(2 * HOUR);
    expect(await step()).toMatchObject({ state, ...(code === undefined ? {} : { error: { code } }) });
    expect(await output()).toMatchObject({ byDeadline: true, outcome: outcome ?? 'expired' });
    expect(await request()).toMatchObject({ status: 'expired', ...(outcome === undefined ? {} : { outcome }) });
    await decide('ada', 'approve');
    expect(await verdict('ada')).toMatchObject({
      accepted: false,
      reason: expect.stringContaining('the deadline passed at 2027-01-15 10:00:00 UTC'),
    });
    expect((await run()).pendingApprovals).toBe(0);
  });

  test('the deadline with onDeadline escalate asks the next level and gives it a period of its own', async () => {
    await open({
      approvers: { users: ['ada'] },
      deadline: '1d',
      onDeadline: 'escalate',
      escalation: [{ after: '9d', approvers: { users: ['bob'] } }],
    });
    await host.advance(1 * DAY);
    expect(await request()).toMatchObject({ status: 'pending', level: 1, eligible: ['ada', 'bob'], deadlineAt: START + 2 * DAY });
    await host.advance(1 * DAY);
    expect(await request()).toMatchObject({ status: 'expired' });
    expect(await step()).toMatchObject({ error: { code: 'approval.expired' } });
  });

  test('counted in business hours leaves the weekend out', async () => {
    // START is Friday, 15 January 2027, 08:00 UTC; the office opens at nine.
    await open({ deadline: '16h', reminders: ['8h'], calendar: { timeZone: 'UTC', holidays: ['2027-01-18'] } });
    expect(new Date((await request()).deadlineAt).toISOString()).toBe('2027-01-19T17:00:00.000Z');
    expect(new Date((await step())?.wakeAt ?? 0).toISOString()).toBe('2027-01-15T17:00:00.000Z');
  });

  test('counted in business hours of a time zone: reminder, escalation and deadline', async () => {
    // START is Friday, 15 January 2027, three in the morning in New York; the office opens at 14:00 UTC.
    await open({
      deadline: '12h',
      reminders: ['9h'],
      escalation: [{ after: '10h', approvers: { users: ['bob'] } }],
      approvers: { users: ['ada'] },
      calendar: { timeZone: 'America/New_York' },
    });
    // Twelve hours: eight on Friday, four on Monday.
    expect(new Date((await request()).deadlineAt).toISOString()).toBe('2027-01-18T18:00:00.000Z');
    const reminded = (): number => notices().filter((notice) => JSON.stringify(notice).includes('Reminder: ')).length;
    await host.advance(3 * DAY + 7 * HOUR - 1);
    expect([reminded(), (await request()).level]).toEqual([0, 0]);
    await host.advance(1);
    expect([reminded(), (await request()).level]).toEqual([1, 0]);
    await host.advance(HOUR);
    expect(await request()).toMatchObject({ status: 'pending', level: 1 });
    await host.advance(2 * HOUR - 1);
    expect(await request()).toMatchObject({ status: 'pending' });
    await host.advance(1);
    expect(await request()).toMatchObject({ status: 'expired' });
  });

  test('A6 a decision made before the deadline wins, although its trigger is lost and only the deadline comes', async () => {
    await open({ deadline: '1h' });
    await host.advance(HOUR - 1);
    deaf = true;
    await decide('ada', 'approve');
    expect(await request()).toMatchObject({ status: 'pending' });
    await host.advance(DAY);
    expect(await request()).toMatchObject({ status: 'decided', decidedBy: ['ada'], endedAt: START + HOUR });
  });

  test('A6 a decision made at the deadline comes too late', async () => {
    await open({ deadline: '1h', approvers: { users: ['ada'] } });
    deaf = true;
    const approval = await request();
    // The doorbell of the deadline is late; the decision is older than it, but not than the deadline.
    await host.store.commit([{ op: 'update', path: paths.step(ACCOUNT, 'r1', 'ask'), data: { wakeAt: START + 2 * HOUR } }]);
    await host.advance(HOUR);
    await submit(host.store, approval, 'ada', 'approve');
    await host.advance(HOUR);
    expect(await request()).toMatchObject({ status: 'expired' });
    expect(await verdict('ada')).toMatchObject({ accepted: false, reason: expect.stringContaining('deadline') });
  });

  test('D7 a decision whose trigger is lost is found by the reconciler', async () => {
    await open({});
    deaf = true;
    await decide('ada', 'approve');
    await reconcile(host.runtime);
    expect(await request()).toMatchObject({ status: 'decided' });
  });

  test('one person of an escalated level decides alone, whatever the first level needs', async () => {
    await open({ quorum: 'all', escalation: [{ after: '1h', approvers: { users: ['head'] } }] }, [
      person('ada'),
      person('bob'),
      person('head', { roles: ['admin'] }),
    ]);
    await decide('ada', 'approve');
    await host.advance(HOUR);
    await decide('head', 'approve');
    expect(await request()).toMatchObject({ status: 'decided', decidedBy: ['head'] });
  });
});

describe('people who come and go', () => {
  const admin = { accountId: ACCOUNT, uid: 'root' };
  const staff = [
    person('ada'),
    person('bob'),
    person('cleo', { roles: ['viewer'] }),
    person('root', { roles: ['admin'] }),
    person('starter'),
  ];

  test('A7 a role lost before deciding does not count, one lost after deciding does', async () => {
    await open({ quorum: { quorum: 2 } }, staff);
    await decide('ada', 'approve');
    await host.advance(1_000);
    await changeMember(host.runtime, admin, { uid: 'ada', active: false });
    expect(await request()).toMatchObject({ status: 'pending', eligible: ['bob'] });
    await changeMember(host.runtime, admin, { uid: 'bob', roles: ['viewer'] });
    await host.advance(1_000);
    await decide('bob', 'approve');
    expect(await verdict('ada')).toMatchObject({ accepted: true });
    expect(await verdict('bob')).toMatchObject({ accepted: false, reason: expect.stringContaining('no longer have the role') });
  });

  test('A7 a decision stands although its maker was dismissed before the engine came to read it', async () => {
    await open({}, staff);
    deaf = true;
    await decide('ada', 'approve');
    await host.advance(1_000);
    await changeMember(host.runtime, admin, { uid: 'ada', active: false });
    expect(await request()).toMatchObject({ status: 'decided', decidedBy: ['ada'] });
  });

  test('A7 a request that nobody can decide any more is reported to the admins, once', async () => {
    await open({ approvers: { users: ['ada'] } }, staff);
    await changeMember(host.runtime, admin, { uid: 'ada', active: false });
    await settleApproval(host.runtime, { accountId: ACCOUNT, approvalId: (await request()).approvalId });
    expect(
      notices()
        .filter(({ kind }) => kind === 'alert')
        .map(({ to }) => to),
    ).toEqual(['root']);
    await reassignApproval(host.runtime, admin, { approvalId: (await request()).approvalId, to: 'bob', reason: 'Ada has left' });
    await decide('bob', 'approve');
    expect(await request()).toMatchObject({ status: 'decided', decidedBy: ['bob'] });
  });

  test('a stand-in decides for somebody who is away, only then, and the record says for whom', async () => {
    await open({ approvers: { users: ['ada'] }, deadline: '30d' }, staff);
    await delegate(host.runtime, { accountId: ACCOUNT, uid: 'ada' }, { to: 'cleo', from: START + 5 * DAY, until: START + 12 * DAY });
    expect(await request()).toMatchObject({ eligible: ['ada', 'cleo'] });
    await host.advance(6 * DAY);
    await decide('cleo', 'approve');
    expect(await output()).toMatchObject({ decisions: [{ by: 'cleo', forWhom: ['ada'], forWhomNames: ['Ada'] }] });
    expect((await history()).map(({ text }) => text)).toContain('Cleo answered "approve" for Ada to "Pay Muster AG"');
  });

  test('a stand-in before or after the time does not decide', async () => {
    await open({ approvers: { users: ['ada'] }, deadline: '30d' }, [...staff, person('dora', { roles: ['viewer'] })]);
    await delegate(host.runtime, admin, { for: 'ada', to: 'cleo', from: START + 5 * DAY, until: START + 12 * DAY });
    await decide('cleo', 'approve');
    expect(await verdict('cleo')).toMatchObject({ accepted: false });
    await delegate(host.runtime, admin, { for: 'ada', to: 'dora', until: START + DAY });
    await host.advance(2 * DAY);
    await decide('dora', 'approve');
    expect(await verdict('dora')).toMatchObject({ accepted: false });
    expect(await request()).toMatchObject({ status: 'pending' });
  });

  test('a stand-in set while a request is open hears of it once', async () => {
    await open({ approvers: { users: ['ada'] } }, staff);
    const ada = { accountId: ACCOUNT, uid: 'ada' };
    await delegate(host.runtime, ada, { to: 'cleo', until: START + DAY });
    await endDelegation(host.runtime, ada, {});
    await delegate(host.runtime, ada, { to: 'cleo', until: START + DAY });
    expect(
      notices()
        .filter(({ to }) => to === 'cleo')
        .map(({ kind }) => kind),
    ).toEqual(['handoff']);
  });

  test('the starter does not decide as a stand-in either', async () => {
    await open({ approvers: { users: ['ada'] } }, staff);
    await delegate(host.runtime, { accountId: ACCOUNT, uid: 'ada' }, { to: 'starter', until: START + DAY });
    expect(await request()).toMatchObject({ eligible: ['ada'] });
    await decide('starter', 'approve');
    expect(await verdict('starter')).toMatchObject({ accepted: false, reason: expect.stringContaining('four-eyes') });
  });

  test('a seat is voted for once, by its holder or by the stand-in', async () => {
    await open({ quorum: { quorum: 2 } }, staff);
    await delegate(host.runtime, { accountId: ACCOUNT, uid: 'ada' }, { to: 'cleo', until: START + DAY });
    await decide('cleo', 'approve');
    await decide('ada', 'reject', { comment: 'no' });
    expect(await verdict('ada')).toMatchObject({ accepted: false, reason: expect.stringContaining('Cleo stood in for you') });
    expect(await request()).toMatchObject({ status: 'pending' });
  });

  test('who takes a request on decides it; released, the others may again', async () => {
    await open({ claimable: true }, staff);
    const { approvalId } = await request();
    await claimApproval(host.runtime, { accountId: ACCOUNT, uid: 'ada' }, { approvalId });
    await expect(claimApproval(host.runtime, { accountId: ACCOUNT, uid: 'bob' }, { approvalId })).rejects.toThrow('Ada has taken it on');
    await decide('bob', 'approve');
    expect(await verdict('bob')).toMatchObject({ accepted: false, reason: expect.stringContaining('Ada has taken this request on') });
    await expect(releaseApproval(host.runtime, { accountId: ACCOUNT, uid: 'cleo' }, { approvalId })).rejects.toThrow(
      'only the one who took it on',
    );
    await releaseApproval(host.runtime, admin, { approvalId });
    expect((await request()).claimedBy).toBeUndefined();
    await claimApproval(host.runtime, { accountId: ACCOUNT, uid: 'ada' }, { approvalId });
    await decide('ada', 'approve');
    expect(await request()).toMatchObject({ status: 'decided', decidedBy: ['ada'] });
  });

  test('handing a seat over moves it, keeps the four-eyes rule, and is written down', async () => {
    await open({}, [person('ada'), person('cleo', { roles: ['viewer'] }), person('root', { roles: ['admin'] }), person('starter')]);
    const { approvalId } = await request();
    const ada = { accountId: ACCOUNT, uid: 'ada' };
    await expect(reassignApproval(host.runtime, ada, { approvalId, from: 'ada', to: 'starter', reason: 'x' })).rejects.toThrow('four-eyes');
    await expect(
      reassignApproval(host.runtime, { accountId: ACCOUNT, uid: 'cleo' }, { approvalId, from: 'ada', to: 'cleo', reason: 'x' }),
    ).rejects.toThrow('your own seat');
    await reassignApproval(host.runtime, ada, { approvalId, from: 'ada', to: 'cleo', reason: 'on holiday' });
    expect(await request()).toMatchObject({ eligible: ['cleo'] });
    await decide('ada', 'approve');
    expect(await verdict('ada')).toMatchObject({ accepted: false });
    await decide('cleo', 'approve');
    expect(await request()).toMatchObject({ status: 'decided', decidedBy: ['cleo'] });
    expect((await history()).map(({ text }) => text)).toContain('Ada asked Cleo instead of Ada to decide on "Pay Muster AG": on holiday');
  });
});

describe('at any depth', () => {
  const inner = { ...ask, id: 'ok', title: 'Item {{loop_item}}' };
  const people = [person('ada'), person('bob')];

  test('A1 two branches have two independent requests, and nobody skips them', async () => {
    host = office({ pay: [{ id: 'fan', type: 'parallel', branches: { left: [{ ...ask, id: 'l' }], right: [{ ...ask, id: 'r' }] } }] });
    await hire(host.store, people);
    await start('pay');
    const [left, right] = await approvalsOf(host.store, 'r1');
    expect([left?.status, right?.status]).toEqual(['pending', 'pending']);
    await host.advance(DAY);
    expect(await run()).toMatchObject({ status: 'running', pendingApprovals: 2 });
    await submit(host.store, left ?? expect.unreachable(), 'ada', 'approve');
    await host.settle();
    expect((await approvalsOf(host.store, 'r1')).map(({ status }) => status)).toEqual(['decided', 'pending']);
    expect(await run()).toMatchObject({ status: 'running', pendingApprovals: 1 });
  });

  test('A2 three iterations in two branches are six requests; an answer to one answers no other', async () => {
    const loop = (id: string) => ({
      id,
      type: 'loop',
      over: { source: 'static', items: ['a', 'b', 'c'] },
      concurrency: 3,
      steps: [{ ...inner, id: `${id}ok` }],
    });
    host = office({ pay: [{ id: 'fan', type: 'parallel', branches: { left: [loop('x')], right: [loop('y')] } }] });
    await hire(host.store, people);
    await start('pay');
    const all = await approvalsOf(host.store, 'r1');
    expect(new Set(all.map(({ approvalId }) => approvalId)).size).toBe(6);
    expect(all.map(({ title }) => title).sort()).toEqual(['Item a', 'Item a', 'Item b', 'Item b', 'Item c', 'Item c']);
    const second = all.find(({ stepKey }) => stepKey === 'fan.left.x[1].xok') ?? expect.unreachable();
    await submit(host.store, second, 'ada', 'approve');
    await host.settle();
    const after = await approvalsOf(host.store, 'r1');
    expect(after.filter(({ status }) => status === 'decided').map(({ stepKey }) => stepKey)).toEqual(['fan.left.x[1].xok']);
    expect(await run()).toMatchObject({ pendingApprovals: 5 });
  });

  test('an answer copied to the request of another iteration is refused there: the content is another', async () => {
    host = office({ pay: [{ id: 'each', type: 'loop', over: { source: 'static', items: ['a', 'b'] }, concurrency: 2, steps: [inner] }] });
    await hire(host.store, people);
    await start('pay');
    const [a, b] = await approvalsOf(host.store, 'r1');
    await submit(host.store, b ?? expect.unreachable(), 'ada', 'approve', { digest: a?.digest ?? '' });
    await host.settle();
    expect((await approvalsOf(host.store, 'r1')).map(({ status }) => status)).toEqual(['pending', 'pending']);
  });

  test('A3 decided branches stay decided while the join waits for the others', async () => {
    const branch = (id: string) => [{ ...ask, id }];
    host = office({
      pay: [{ id: 'fan', type: 'parallel', branches: { a: branch('a1'), b: branch('b1'), c: [{ id: 'slow', type: 'wait', for: '1h' }] } }],
    });
    await hire(host.store, people);
    await start('pay');
    for (const approval of await approvalsOf(host.store, 'r1')) {
      await submit(host.store, approval, 'ada', 'approve');
      await host.settle();
    }
    expect(await run()).toMatchObject({ status: 'running' });
    await host.advance(HOUR);
    expect((await approvalsOf(host.store, 'r1')).map(({ status }) => status)).toEqual(['decided', 'decided']);
    expect(await run()).toMatchObject({ status: 'completed', pendingApprovals: 0 });
  });

  test.each([
    ['fails the run', {}, 'failed', 'cancelled'],
    ['takes the path for it', { onException: { rejected: [{ id: 'sorry', type: 'transform', value: 'sorry' }] } }, 'running', 'pending'],
  ])('A8 a rejection deep inside %s, and its siblings agree', async (_how, exception, status, sibling) => {
    host = office({
      pay: [
        {
          id: 'fan',
          type: 'parallel',
          policy: 'all',
          branches: {
            a: [
              {
                id: 'deep',
                type: 'loop',
                over: { source: 'static', items: [1] },
                steps: [{ id: 'c', type: 'condition', if: 'true', then: [{ ...ask, id: 'x', ...exception }] }],
              },
            ],
            b: [{ ...ask, id: 'y' }],
            c: [{ id: 'z', type: 'wait', for: '30d' }],
          },
        },
      ],
    });
    await hire(host.store, people);
    await start('pay');
    const deep = (await approvalsOf(host.store, 'r1')).find(({ stepKey }) => stepKey.endsWith('x')) ?? expect.unreachable();
    await submit(host.store, deep, 'ada', 'reject', { comment: 'no' });
    await host.settle();
    const other = (await approvalsOf(host.store, 'r1')).find(({ stepKey }) => stepKey.endsWith('y'));
    expect(await run()).toMatchObject({ status, pendingApprovals: status === 'failed' ? 0 : 1 });
    expect(other?.status).toBe(sibling);
    await submit(host.store, other ?? expect.unreachable(), 'bob', 'approve');
    await host.settle();
    const told = await verdictOn(host.store, other ?? expect.unreachable(), 'bob');
    expect(told).toMatchObject(
      status === 'failed' ? { accepted: false, reason: expect.stringContaining('withdrawn') } : { accepted: true },
    );
  });

  test('A9 a request that a condition skips is never made', async () => {
    host = office({
      pay: [
        { id: 'c', type: 'condition', if: 'false', then: [ask] },
        { id: 'next', type: 'transform', value: 1 },
      ],
    });
    await hire(host.store, people);
    await start('pay');
    expect(await approvalsOf(host.store, 'r1')).toEqual([]);
    expect(await run()).toMatchObject({ status: 'completed' });
  });

  test('A14 a request in a child run inside a loop completes the parent', async () => {
    host = office({
      parent: [
        { id: 'each', type: 'loop', over: { source: 'static', items: [1] }, steps: [{ id: 'sub', type: 'subworkflow', workflow: 'pay' }] },
      ],
      pay: [ask],
    });
    await hire(host.store, people);
    await start('parent');
    const [found] = [...host.store.all()].filter(({ path }) => /approvals\/[^/]+$/.test(path));
    const childId = String(found?.data['runId']);
    await submit(host.store, await approvalOf(host.store, childId), 'ada', 'approve');
    await host.settle();
    expect(await run()).toMatchObject({ status: 'completed' });
  });
});

describe('an end from outside', () => {
  test('cancelling the run withdraws the request, and a later answer is told so', async () => {
    await open({});
    await endRun(host.runtime, { accountId: ACCOUNT, runId: 'r1' }, { status: 'cancelled' });
    expect(await request()).toMatchObject({ status: 'cancelled' });
    expect(await run()).toMatchObject({ status: 'cancelled', pendingApprovals: 0 });
    await decide('ada', 'approve');
    expect(await verdict('ada')).toMatchObject({ accepted: false, reason: expect.stringContaining('withdrawn') });
  });

  test('a request whose step is gone is closed when somebody looks', async () => {
    await open({});
    await host.store.commit([{ op: 'update', path: paths.step(ACCOUNT, 'r1', 'ask'), data: { state: 'skipped' } }]);
    await decide('ada', 'approve');
    expect(await request()).toMatchObject({ status: 'cancelled' });
    expect(await verdict('ada')).toMatchObject({ accepted: false });
  });
});

test('the history of a run says in plain words what people did, and its chain holds', async () => {
  await open({ quorum: { quorum: 2 } });
  await decide('ada', 'approve', { comment: 'ok' });
  await decide('bob', 'approve');
  const entries = await history();
  expect(entries.map(({ text }) => text)).toEqual([
    'A run of version 1 of "pay" was started',
    'Ada answered "approve" to "Pay Muster AG": ok',
    'Bob answered "approve" to "Pay Muster AG"',
    '"Pay Muster AG" was decided by Ada, Bob: approve (ok)',
    'The run completed',
  ]);
  expect(verifyHistory(entries)).toMatchObject({ ok: true, entries: 5 });
});
