import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, test } from 'vitest';
import { indexDefinition } from '../engine/definition-index.ts';
import type { Json } from '../engine/json.ts';
import { checkDefinition, parseDefinition } from '../engine/preflight.ts';
import { createStepRegistry } from '../steps/index.ts';
import { createTestKit, RunNotCompleted } from '../testing/test-kit.ts';
import type { TestKit, TestRun } from '../testing/test-kit.ts';
import { actions } from './actions.ts';

const folder = new URL('../../samples/', import.meta.url);
const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
const sample = (id: string): unknown => JSON.parse(readFileSync(new URL(`${id}.json`, folder), 'utf8'));

const person = (uid: string, roles: string[], departments: string[] = []) =>
  ({
    v: 1,
    accountId: 'test',
    uid,
    email: `${uid}@example.org`,
    name: uid,
    roles,
    departments,
    active: true,
    updatedAt: 0,
    updatedBy: 'test',
  }) as never;

function kitFor(id: string): TestKit {
  const members = [person('ada', ['approver'], ['support', 'finance']), person('amir', ['admin']), person('otto', ['operator'])];
  return createTestKit({ definitions: { [id]: sample(id) }, actions, members });
}

function recorded(name: string): Json {
  const examples = createRequire(import.meta.url)('@octokit/webhooks-examples') as { name: string; examples: { action: string }[] }[];
  const found = examples.find((entry) => entry.name === name)?.examples.find(({ action }) => action === 'opened');
  if (found === undefined) throw new Error(`no recorded ${name}.opened`);
  return found;
}

async function failureOf(kit: TestKit, run: TestRun): Promise<unknown> {
  const error: unknown = await kit.result(run).catch((thrown: unknown) => thrown);
  return error instanceof RunNotCompleted
    ? { status: error.run.status, code: error.run.error?.code, message: error.run.error?.message }
    : error;
}

test.each(names)('%s passes pre-flight and calls only actions that exist', (name) => {
  const { definition, problems } = parseDefinition(sample(name.replace('.json', '')));
  expect(problems).toEqual([]);
  const index = indexDefinition(definition!);
  expect(checkDefinition(index, createStepRegistry())).toEqual([]);
  const called = [...index.places.values()].flatMap(({ step }) => ('action' in step ? [step['action']] : []));
  for (const action of called) expect(actions.map((known) => known.name)).toContain(action);
});

describe('issue triage on the recorded webhook issues.opened', () => {
  const started = async (kind: string): Promise<{ kit: TestKit; run: TestRun }> => {
    const kit = kitFor('issue-triage');
    kit.mockStep('classify', () => ({ kind, urgency: 'low', labels: ['documentation', 'good first issue'] }));
    kit.mockStep('draftAnswer', () => 'Try this.');
    kit.mockStep('summarise', () => 'Done.');
    return { kit, run: await kit.start('issue-triage', recorded('issues')) };
  };

  test('after approval each label is prepared, and the output says what happened', async () => {
    const { kit, run } = await started('documentation');
    expect(kit.waitingAt(run)).toEqual(['approve']);
    const [approval] = await kit.approvals(run);
    expect(approval?.title).toBe('Label Codertocat/Hello-World#1 as documentation?');
    await kit.approve(run, 'ada');
    expect(await kit.result(run)).toEqual({
      issue: 'https://github.com/Codertocat/Hello-World/issues/1',
      kind: 'documentation',
      decision: 'approve',
      labels: [
        { target: 'Codertocat/Hello-World#1', label: 'documentation', color: expect.stringMatching(/^[0-9a-f]{6}$/) as string },
        { target: 'Codertocat/Hello-World#1', label: 'good first issue', color: expect.stringMatching(/^[0-9a-f]{6}$/) as string },
      ],
      summary: 'Done.',
    });
    expect(kit.step(run, 'isWork.then.enrich').output?.json).toContain('Spelling of');
  });

  test('a rejection prepares nothing, and a question is answered instead of enriched', async () => {
    const { kit, run } = await started('question');
    await kit.reject(run, 'ada');
    expect(await kit.result(run)).toMatchObject({ decision: 'reject', labels: [] });
    const keys = kit.steps(run).map(({ key }) => key);
    expect(keys).toContain('isWork.else.draftAnswer');
    expect(keys).toContain('agreed.else.leave');
    expect(keys.filter((key) => key.includes('prepareLabel') || key.includes('enrich'))).toEqual([]);
  });

  test('nobody decides for seven days: it counts as rejected', async () => {
    const { kit, run } = await started('bug');
    await kit.advance('7d');
    expect(await kit.result(run)).toMatchObject({ decision: 'reject' });
  });

  test('the webhook of a pull request is not an issue: the run is rejected before it costs a step', async () => {
    const kit = kitFor('issue-triage');
    const run = await kit.start('issue-triage', recorded('pull_request'));
    expect(kit.run(run)).toMatchObject({ status: 'rejected' });
    expect(kit.run(run).problems).toContain('issue');
    expect(kit.steps(run)).toEqual([]);
  });
});

describe('invoice approval', () => {
  const invoice = (amount: number, total = amount): Json => ({
    number: '2026-17',
    vendor: 'Muster AG',
    amount,
    currency: 'CHF',
    lines: [{ text: 'Work', quantity: 2, unitPrice: total / 2 }],
  });

  test('a small one is booked at once', async () => {
    const kit = kitFor('invoice-approval');
    const run = await kit.start('invoice-approval', invoice(999.9));
    expect(await kit.result(run)).toMatchObject({ invoice: '2026-17', account: '4400 Services' });
    expect(await kit.approvals(run)).toEqual([]);
  });

  test('a medium one asks one person', async () => {
    const kit = kitFor('invoice-approval');
    const run = await kit.start('invoice-approval', invoice(1_000));
    expect(kit.waitingAt(run)).toEqual(['small.else.medium.then.askOne']);
    await kit.approve(run, 'ada');
    expect(await kit.result(run)).toMatchObject({ entry: expect.stringMatching(/^E-[0-9A-F]{8}$/) as string });
  });

  test('a large one asks two people', async () => {
    const kit = kitFor('invoice-approval');
    const run = await kit.start('invoice-approval', invoice(10_000));
    await kit.approve(run, 'ada');
    expect(kit.waitingAt(run)).toEqual(['small.else.medium.else.askTwo']);
    await kit.approve(run, 'amir');
    expect(await kit.result(run)).toMatchObject({ account: '4900 Investments' });
  });

  test('a refusal ends it with the business exception of the workflow', async () => {
    const kit = kitFor('invoice-approval');
    const run = await kit.start('invoice-approval', invoice(5_000));
    await kit.reject(run, 'ada');
    expect(await failureOf(kit, run)).toEqual({
      status: 'failed',
      code: 'invoice_refused',
      message: 'Invoice 2026-17 of Muster AG was refused',
    });
    expect(kit.steps(run).map(({ key }) => key)).not.toContain('book');
  });

  test('nobody decides before the deadline: it fails, and nothing is booked', async () => {
    const kit = kitFor('invoice-approval');
    const run = await kit.start('invoice-approval', invoice(20_000));
    await kit.advance('5d');
    expect(await failureOf(kit, run)).toMatchObject({ status: 'failed', code: 'approval.expired' });
    expect(kit.steps(run).map(({ key }) => key)).not.toContain('book');
  });

  test('lines that do not add up are sent back', async () => {
    const kit = kitFor('invoice-approval');
    const run = await kit.start('invoice-approval', invoice(500, 400));
    expect(await failureOf(kit, run)).toMatchObject({
      code: 'invoice_wrong',
      message: 'Invoice 2026-17: the lines add up to 400, but the invoice says 500',
    });
  });
});
