import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { operationFollowers } from '../runner/followers.ts';
import { BusinessException, KilnError } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import { defineAction } from '../steps/action-registry.ts';
import { ACCOUNT, member, Operations } from '../testing/operations.testing.ts';
import { HIDDEN } from './sensitive.ts';

const CANARY = 'CH93-0076-2011-6238-5295-7';
const anything = { input: z.looseObject({}), output: z.json() } as const;
let fails: ((iban: unknown) => never) | undefined;
const pay = defineAction({
  name: 'pay',
  ...anything,
  idempotent: true,
  run: ({ iban = null }) => {
    fails?.(iban);
    return { paidTo: String(iban) };
  },
});
const look = defineAction({ name: 'look', ...anything, idempotent: true, run: () => ({ account: CANARY }) });

const input = { type: 'object', properties: { iban: { type: 'string' }, rows: { type: 'array' } }, required: ['iban'] };
const toIban = { inputs: { iban: '{{workflow_input.iban}}' } };
const payStep = (more: object = {}): object => ({ id: 'pay', type: 'action', action: 'pay', ...toIban, ...more });

let ops: Operations;
beforeEach(async () => {
  fails = undefined;
  ops = new Operations({ actions: [pay, look], followers: operationFollowers });
  await ops.hire(member('olga', ['operator']), member('ada', ['approver']), member('vera', ['viewer']));
});

/** Paths of documents in which the canary stands although any member may read them. */
function seenByMembers(): readonly string[] {
  return [...ops.host.store.all()]
    .filter((doc) => isForMembers(doc.path, doc.data) && JSON.stringify(doc.data).includes(CANARY))
    .map(({ path }) => path);
}

/** What `firestore.rules` let a viewer read; the rules' own tests hold them to it. */
function isForMembers(path: string, data: Readonly<Record<string, unknown>>): boolean {
  const [, , collection, , inner] = path.split('/');
  if (inner === 'payloads') return data['sensitive'] !== true;
  if (inner === 'journal' || inner === 'answers' || inner === 'consumed') return false;
  return !['outbox', 'effects', 'events', 'requests', 'jobs', 'hooks', 'notifications', 'startKeys'].includes(collection ?? '');
}

/** What operators read instead: the canary is there. */
function keptForOperators(run: string): boolean {
  return [...ops.host.store.all()].some(
    (doc) =>
      doc.path.startsWith(`${paths.run(ACCOUNT, run)}/payloads/`) &&
      doc.data['sensitive'] === true &&
      String(doc.data['text']).includes(CANARY),
  );
}

async function begun(definition: object, more: object = {}): Promise<string> {
  await ops.publish('wf', { input, sensitive: ['iban'], ...definition });
  return ops.start('wf', { iban: CANARY, ...more });
}

describe('a sensitive field of the input', () => {
  test('is nowhere that a member reads: not in the run, its steps, their outputs, loops, branches or the end', async () => {
    const run = await begun(
      {
        steps: [
          payStep(),
          { id: 'copy', type: 'transform', value: '{{step.pay.paidTo}}' },
          {
            id: 'each',
            type: 'loop',
            over: { source: 'workflowInput', path: 'rows' },
            steps: [payStep({ id: 'inner', inputs: { iban: { source: 'previousStep', stepId: 'copy' } } })],
          },
          { id: 'fan', type: 'parallel', branches: { left: [payStep({ id: 'left' })] } },
          { id: 'which', type: 'condition', if: 'workflow_input.iban != ""', then: [payStep({ id: 'then' })] },
        ],
        output: { last: '{{step.fan}}', all: '{{step.each}}' },
      },
      { rows: [1, 2] },
    );
    expect(ops.run(run).status).toBe('completed');
    expect(JSON.stringify(await ops.output(run))).toContain(CANARY);
    expect(await ops.output(run)).toMatchObject({ all: [{ paidTo: CANARY }, { paidTo: CANARY }] });
    expect(ops.step(run, 'each[1].inner')).toMatchObject({ sensitive: 'step' });
    expect(ops.step(run, 'which').output?.json).toContain('then');
    expect(keptForOperators(run)).toBe(true);
    expect(seenByMembers()).toEqual([]);
  });

  test('that goes through the items of a loop is followed', async () => {
    await ops.publish('wf', {
      input,
      sensitive: ['rows'],
      steps: [
        {
          id: 'each',
          type: 'loop',
          over: { source: 'workflowInput', path: 'rows' },
          steps: [payStep({ inputs: { iban: '{{loop_item}}' } })],
        },
      ],
    });
    const run = await ops.start('wf', { iban: 'x', rows: [CANARY] });
    expect(ops.run(run).status).toBe('completed');
    expect(seenByMembers()).toEqual([]);
  });

  test('does not hide steps that it does not reach', async () => {
    const run = await begun({ steps: [{ id: 'plain', type: 'transform', value: 7 }, payStep()], output: '{{step.plain}}' });
    expect(ops.step(run, 'plain').output?.json).toBe('7');
    expect(ops.run(run).output?.json).toBe('7');
    expect(seenByMembers()).toEqual([]);
  });

  test('is in no error, alert, exception, history or trace; operators find what was said', async () => {
    fails = (iban) => {
      throw new KilnError('step.failed', `no account ${String(iban)}`, { data: { iban } });
    };
    const run = await begun({ alerts: { onFailure: true, after: '1h' }, steps: [payStep({ retry: { maxAttempts: 2, baseMs: 1_000 } })] });
    await ops.host.advance(120_000);
    expect(ops.run(run)).toMatchObject({ status: 'failed', error: { code: 'step.failed', message: HIDDEN, stepKey: 'pay' } });
    expect(ops.docs('alerts').length).toBe(1);
    const kept = z.object({ kept: z.string() }).parse(ops.run(run).error?.data).kept;
    expect(ops.host.store.peek(paths.payload(ACCOUNT, run, kept))?.data).toMatchObject({
      sensitive: true,
      text: expect.stringContaining(`no account ${CANARY}`) as string,
    });
    expect(seenByMembers()).toEqual([]);
  });

  test('is in no business exception, and none of a compensation', async () => {
    fails = (iban) => {
      throw new BusinessException('closed', { iban }, `account ${String(iban)} is closed`);
    };
    const first = await begun({ steps: [payStep({ onException: { closed: [payStep({ id: 'note', action: 'look' })] } })] });
    expect(ops.run(first).status).toBe('completed');
    const second = await begun({ steps: [payStep()] });
    expect(ops.run(second)).toMatchObject({ status: 'failed', error: { code: 'closed', message: HIDDEN } });
    fails = undefined;
    const undo = { type: 'action', action: 'pay', inputs: { iban: '{{step.pay.paidTo}}' } };
    const third = await begun({
      onError: 'compensate',
      steps: [payStep({ compensate: undo }), { id: 'no', type: 'fail', code: 'no', message: 'no' }],
    });
    await ops.host.advance(60_000);
    expect(ops.run(third).status).toBe('compensated');
    expect(seenByMembers()).toEqual([]);
  });

  test('is in no rejected run, and no check of an outcome', async () => {
    await ops.publish('wf', {
      input: { ...input, properties: { iban: { type: 'string', maxLength: 3 } } },
      sensitive: ['iban'],
      steps: [payStep()],
    });
    expect(ops.run(await ops.start('wf', { iban: CANARY })).status).toBe('rejected');
    const reconcile = { check: { type: 'action', action: 'look', ...toIban }, expect: 'found.account == output.paidTo' };
    const run = await begun({ reconcile, steps: [payStep()] });
    await ops.host.advance(60_000);
    await ops.reconcile();
    expect(ops.run(run).reconciliation).toBe('reconciled');
    expect(seenByMembers()).toEqual([]);
  });

  test('is in no request, mail or notification for others; those who are asked read it', async () => {
    const ask = {
      id: 'ask',
      type: 'approval',
      title: 'Pay?',
      approvers: { users: ['ada'] },
      fourEyes: false,
      evidence: [{ kind: 'text', text: 'to {{workflow_input.iban}}' }],
    };
    const run = await begun({ steps: [ask] });
    const [request] = ops.docs('approvals');
    expect(request).toMatchObject({ sensitive: true, status: 'pending' });
    expect(ops.docs('notifications').length).toBeGreaterThan(0);
    expect(JSON.stringify([...ops.docs('notifications'), ...ops.docs('outbox')])).not.toContain(CANARY);
    expect(keptForOperators(run)).toBe(true);
    expect(seenByMembers()).toEqual([]);
  });

  test('is as sensitive in the workflow that it is passed on to, and in a fork', async () => {
    await ops.publish('child', [
      { id: 'echo', type: 'transform', value: '{{workflow_input.to}}' },
      { id: 'ask', type: 'wait', event: { name: 'go' } },
    ]);
    const run = await begun({ steps: [{ id: 'sub', type: 'subworkflow', workflow: 'child', inputs: { to: '{{workflow_input.iban}}' } }] });
    const child =
      ops
        .docs('runs')
        .map((doc) => String(doc['runId']))
        .find((id) => id !== run) ?? '';
    expect(ops.run(child)).toMatchObject({ sensitive: 'run' });
    expect(ops.step(child, 'ask')).toMatchObject({ sensitive: 'run' });
    await ops.command(run, 'cancel');
    await ops.command(child, 'fork', { stepKey: 'echo' });
    await ops.command(run, 'fork', { argument: { input: { iban: CANARY } } });
    expect(ops.docs('runs').length).toBeGreaterThanOrEqual(4);
    expect(seenByMembers()).toEqual([]);
  });

  test('is in no command that was carried out', async () => {
    fails = () => {
      throw new KilnError('http.connection', 'no way through');
    };
    const run = await begun({ steps: [payStep({ retry: { maxAttempts: 9, baseMs: 20_000 } })] });
    fails = undefined;
    const done = await ops.command(run, 'retry', { stepKey: 'pay', argument: { input: { action: 'pay', inputs: { iban: CANARY } } } });
    expect(done).toMatchObject({ status: 'done' });
    expect(ops.run(run).status).toBe('completed');
    expect(seenByMembers()).toEqual([]);
  });

  test.each([
    ['businessKey', { businessKey: '{{workflow_input.iban}}', steps: [payStep()] }],
    ['attributes', { attributes: { to: '{{workflow_input}}' }, steps: [payStep()] }],
    ['steps[1].title', { steps: [payStep(), { id: 'ask', type: 'approval', title: 'Pay {{step.pay.paidTo}}?' }] }],
    ['steps[0].event', { steps: [{ id: 'w', type: 'wait', event: { name: 'paid', key: '{{workflow_input.iban}}' } }] }],
  ])('may not stand in %s, which everybody reads', async (path, definition) => {
    await expect(ops.publish('wf', { input, sensitive: ['iban'], ...definition })).rejects.toMatchObject({
      data: {
        problems: [expect.objectContaining({ path, message: expect.stringContaining('everybody in the account reads this') as string })],
      },
    });
  });
});

test('a step that is marked itself hides what it does, and what is made of it', async () => {
  await ops.publish('wf', [
    { id: 'look', type: 'action', action: 'look', sensitive: true },
    { id: 'copy', type: 'transform', value: '{{step.look}}' },
  ]);
  const run = await ops.start('wf');
  expect(ops.run(run).status).toBe('completed');
  expect(keptForOperators(run)).toBe(true);
  expect(seenByMembers()).toEqual([]);
});
