import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { startAuthEmulator, type AuthEmulator } from '../../scripts/emulator/suite.ts';
import { freePort } from '../../scripts/process/ports.ts';
import { paths } from '../../functions/src/model/paths.ts';
import { ACCOUNT, Installation } from '../installation.ts';
import { buildWeb } from './build.ts';
import { launchChromium, open, signIn, type Watched, type Window } from './browser.ts';
import { membersOf } from './fixtures.ts';
import { startWebStack, type WebStack } from './stack.ts';

const PROJECT = 'demo-journey';

const invoice = {
  name: 'Invoice',
  input: {
    type: 'object',
    required: ['number', 'amount', 'supplier'],
    properties: {
      number: { type: 'string', title: 'Invoice number' },
      amount: { type: 'number', minimum: 0 },
      supplier: { type: 'string' },
    },
  },
  steps: [
    {
      id: 'release',
      type: 'approval',
      title: 'Pay invoice {{workflow_input.number}}',
      effect: 'Pays CHF {{workflow_input.amount}} to {{workflow_input.supplier}}.',
      approvers: { departments: ['finance'] },
      deadline: '1d',
      form: { type: 'object', required: ['amount'], properties: { amount: { type: 'number', minimum: 0, maximum: 10_000 } } },
      values: { amount: '{{workflow_input.amount}}' },
      evidence: [{ kind: 'table', title: 'Invoice', rows: [['Supplier', '{{workflow_input.supplier}}']] }],
    },
    { id: 'pay', type: 'transform', value: { paid: '{{step.release.values.amount}}' } },
  ],
};

let auth: AuthEmulator | undefined;
let kiln: Installation;
let stack: WebStack;
let browser: Browser;
const opened: Watched[] = [];

beforeAll(async () => {
  const running = process.env['KILN_TEST_AUTH_EMULATOR'];
  const port = await freePort();
  const authHost = running ?? `127.0.0.1:${port}`;
  const begun = async (): Promise<void> => {
    if (running === undefined) auth = await startAuthEmulator({ projectId: PROJECT, port });
  };
  const env = { FIREBASE_AUTH_EMULATOR_HOST: authHost };
  await Promise.all([
    begun(),
    Installation.start({ name: PROJECT.replace('demo-', ''), env }).then((started) => (kiln = started)),
    buildWeb(),
  ]);
  const functions = new URL(kiln.host.url('api')).host;
  stack = await startWebStack({ projectId: PROJECT, firestore: inject('firestoreHost'), auth: authHost, functions });
  await stack.seed(membersOf(ACCOUNT));
  await kiln.publish('invoice', invoice);
  await kiln.publish('call', [
    { id: 'before', type: 'transform', value: 1 },
    { id: 'send', type: 'action', action: 'test.call', retry: { baseMs: 3_600_000, jitter: 'none', capMs: 3_600_000, maxAttempts: 3 } },
    { id: 'end', type: 'transform', value: 'done' },
  ]);
  browser = await launchChromium();
}, 300_000);
afterAll(async () => {
  await browser?.close();
  await stack?.stop();
  await kiln?.close();
  await auth?.stop();
});
beforeEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});

type Who = 'Approver' | 'Operator' | 'Admin';

async function visit(who: Who, path: string, window?: Window): Promise<Page> {
  const watched = await open(browser, `${stack.url}/a/${ACCOUNT}/${path}`, window);
  opened.push(watched);
  await signIn(watched.page, who);
  await watched.page.locator('#content').waitFor();
  return watched.page;
}

/** Starts a run from the form and returns its id. */
async function start(page: Page, number: string, amount: string): Promise<string> {
  await page.getByRole('button', { name: 'Start a run' }).first().click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Which workflow?').selectOption('invoice');
  await dialog.getByLabel('Invoice number').fill(number);
  await dialog.getByLabel('Amount').fill(amount);
  await dialog.getByLabel('Supplier').fill('Muster AG');
  await dialog.getByRole('button', { name: 'Start', exact: true }).click();
  await page.waitForURL(/\/runs\/[^/?]+$/);
  return page.url().split('/').at(-1) ?? '';
}

async function openRequest(page: Page, title: string): Promise<void> {
  await page.getByText(title).first().click();
  await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
}

async function approvalOf(runId: string): Promise<string> {
  const [first] = await kiln.approvalOf(runId);
  return first?.approvalId ?? '';
}

const clean = (): void => expect(opened.flatMap((each) => each.wrong)).toEqual([]);

test('a run is started from its form, watched live, approved with a correction on a phone, and seen to finish', async () => {
  const desk = await visit('Operator', 'runs');
  const runId = await start(desk, 'A-1', '4200');
  await desk.getByText('Waiting for a person').first().waitFor();
  await desk.getByText(/Waiting for .* to decide/).waitFor();

  const phone = await visit('Approver', 'inbox', { width: 390, height: 844 });
  await openRequest(phone, 'Pay invoice A-1');
  await phone.getByText('Pays CHF 4200 to Muster AG.').first().waitFor();
  await phone.getByLabel('Amount').fill('4100');
  await phone.getByRole('button', { name: 'Approve', exact: true }).click();
  await phone.getByRole('dialog').getByText('4,100').waitFor();
  await phone.getByRole('button', { name: 'Approve now' }).click();
  await phone.getByText('Your decision counts: Approved').waitFor();

  await desk.getByText('Completed', { exact: true }).first().waitFor();
  expect(await kiln.output(runId)).toEqual({ paid: 4100 });
  await desk.getByRole('tab', { name: 'Input and output' }).click();
  await desk.getByText('4100').first().waitFor();
  clean();
});

test('a correction that does not fit is refused before it is sent', async () => {
  const desk = await visit('Operator', 'runs');
  await start(desk, 'A-2', '100');
  const page = await visit('Approver', 'inbox');
  await openRequest(page, 'Pay invoice A-2');
  await page.getByLabel('Amount').fill('20000');
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByText('Some corrections do not fit').waitFor();
  expect(await page.getByRole('dialog').count()).toBe(0);
  clean();
});

test('a rejection needs a comment, and the run follows it', async () => {
  const desk = await visit('Operator', 'runs');
  const runId = await start(desk, 'A-3', '300');
  const page = await visit('Approver', 'inbox');
  await openRequest(page, 'Pay invoice A-3');
  await page.getByRole('button', { name: 'Reject', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Comment').fill('');
  await dialog.getByRole('button', { name: 'Reject now' }).click();
  expect(await dialog.isVisible()).toBe(true);
  await dialog.getByLabel('Comment').fill('Ordered twice');
  await dialog.getByRole('button', { name: 'Reject now' }).click();
  await page.getByText('Your decision counts: Rejected').waitFor();
  await page.getByText('Ordered twice').first().waitFor();
  await desk.getByText('Failed', { exact: true }).first().waitFor();
  expect((await kiln.run(runId)).error?.code).toBe('rejected');
  clean();
});

test('A5 of two who decide at the same moment, one is told who was first', async () => {
  const desk = await visit('Operator', 'runs');
  const runId = await start(desk, 'A-4', '400');
  await desk.getByText('Waiting for a person').first().waitFor();
  const approvalId = await approvalOf(runId);
  const ada = await visit('Approver', `approvals/${approvalId}`);
  await ada.getByRole('button', { name: 'Approve', exact: true }).click();
  await ada.getByRole('button', { name: 'Approve now' }).waitFor();
  // The other one decides while this one still reads what approving means.
  const digest = String((await stack.db.doc(paths.approval(ACCOUNT, approvalId)).get()).get('digest'));
  await kiln.decide({ approvalId, digest }, 'demo-second', 'reject');
  await ada
    .getByRole('button', { name: 'Approve now' })
    .click({ timeout: 5_000 })
    .catch(() => undefined);
  await ada.getByText(/Already decided by Sven Second/).waitFor();
  await ada.getByText('Rejected by Sven Second').waitFor();
  expect(await ada.getByText('Your decision counts').count()).toBe(0);
  clean();
});

describe('an operator', () => {
  async function command(page: Page, name: string, reason: string): Promise<void> {
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill(reason);
    await dialog.getByRole('button', { name: `${name} now` }).click();
  }

  test('pauses, resumes, tries again at once, forks and compares', async () => {
    kiln.target.answer = (_call, nth) => (nth === 1 ? { status: 503 } : { body: 'ok' });
    const runId = await kiln.begin('call');
    const page = await visit('Operator', `runs/${runId}`);
    await page.getByText(/The last attempt failed; waiting for attempt 2/).waitFor();

    await page.getByRole('button', { name: 'Pause' }).click();
    await command(page, 'Pause', 'look first');
    await page.getByText('Paused', { exact: true }).first().waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await command(page, 'Resume', 'go on');
    await page.getByText('Running', { exact: true }).first().waitFor();

    await page.getByRole('treeitem', { name: /send/ }).click();
    await page.getByRole('complementary').getByRole('button', { name: 'Actions' }).click();
    const dialog = page.getByRole('dialog');
    const skip = dialog.getByRole('listitem').filter({ hasText: 'Settle the outcome' });
    expect(await skip.getByRole('button').isDisabled()).toBe(true);
    await skip.getByText('its outcome is not in doubt').waitFor();
    await dialog.getByRole('listitem').filter({ hasText: 'Try again now' }).getByRole('button').click();
    await command(page, 'Try again now', 'the target is back');
    await page.getByText('Completed', { exact: true }).first().waitFor();

    await page.getByRole('treeitem', { name: /send/ }).click();
    await page.getByRole('complementary').getByRole('button', { name: 'Actions' }).click();
    await dialog.getByRole('listitem').filter({ hasText: 'Fork from here' }).getByRole('button').click();
    await command(page, 'Fork from here', 'once more');
    await kiln.host.until(
      async () => !(await stack.db.collection(paths.runs(ACCOUNT)).where('forkedFrom.runId', '==', runId).get()).empty,
      { stepMs: 1_000 },
    );
    const forks = await stack.db.collection(paths.runs(ACCOUNT)).where('forkedFrom.runId', '==', runId).get();
    const fork = forks.docs[0]?.id ?? '';
    await page.goto(`${stack.url}/a/${ACCOUNT}/runs/${fork}?tab=compare`);
    await page.getByText('Step by step against the run').waitFor();
    await page.getByRole('row', { name: /before/ }).waitFor();
    clean();
  });

  test('finds the error in a workflow, mends it and publishes', async () => {
    const page = await visit('Operator', 'workflows/new');
    const editor = page.getByLabel('Definition as JSON');
    await editor.click();
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText(
      JSON.stringify({ id: 'mended', steps: [{ id: 'a', type: 'transform', value: '{{step.nothing.x}}' }] }, null, 2),
    );
    const problem = page.getByRole('button', { name: /nothing/ });
    await problem.waitFor();
    expect(await page.getByRole('button', { name: 'Publish' }).isDisabled()).toBe(true);
    await problem.click();
    await page.keyboard.insertText('"fine"');
    await page.getByText('No problems.').waitFor();
    await page.getByRole('button', { name: 'Publish' }).click();
    await page.getByRole('dialog').getByLabel('What has changed?').fill('First version');
    await page.getByRole('button', { name: 'Publish now' }).click();
    await page.getByRole('heading', { name: 'mended' }).waitFor();
    expect((await stack.db.doc(paths.version(ACCOUNT, 'mended', 1)).get()).get('note')).toBe('First version');
    clean();
  });
});

test('an approver hands over to somebody else, who then decides', async () => {
  const desk = await visit('Operator', 'runs');
  const runId = await start(desk, 'A-5', '500');
  await desk.getByText('Waiting for a person').first().waitFor();
  const approvalId = await approvalOf(runId);
  const ada = await visit('Approver', `approvals/${approvalId}`);
  await ada.getByRole('button', { name: 'Hand over', exact: true }).click();
  const dialog = ada.getByRole('dialog');
  await dialog.getByLabel('Who shall decide').selectOption('Alma Admin');
  await dialog.getByLabel('Reason').fill('I am away');
  await dialog.getByRole('button', { name: 'Hand over now' }).click();
  await ada.getByText('you were not asked to decide').waitFor();
  const alma = await visit('Admin', `approvals/${approvalId}`);
  await alma.getByRole('button', { name: 'Approve', exact: true }).click();
  await alma.getByRole('button', { name: 'Approve now' }).click();
  await alma.getByText('Your decision counts: Approved').waitFor();
  expect(await kiln.output(runId)).toEqual({ paid: 500 });
  clean();
});

test('an admin sets how long things are kept, a limit and a schedule, erases a person’s data, and saves the audit log', async () => {
  const page = await visit('Admin', 'operations?tab=settings');
  page.on('dialog', (dialog) => void dialog.accept());
  await page.getByLabel('Inputs, outputs and what was shown').fill('30');
  await page.getByRole('button', { name: 'Save' }).first().click();
  await page.getByText('Saved.').first().waitFor();
  expect((await stack.db.doc(paths.setting(ACCOUNT, 'retention')).get()).get('payloadDays')).toBe(30);

  await page.getByLabel('At the same time').fill('4');
  await page.getByRole('button', { name: 'Save' }).nth(1).click();
  await kiln.host.until(async () => (await stack.db.doc(paths.account(ACCOUNT)).get()).get('limits.llm') === 4, { stepMs: 1_000 });

  const erase = page.getByRole('button', { name: 'Erase the data' });
  await page.getByLabel('Business key').fill('no-such-key');
  expect(await erase.isDisabled()).toBe(true);
  await page.getByLabel('I know that this cannot be undone').check();
  await erase.click();
  await page.getByText('Runs: 0').waitFor();

  await page.goto(`${stack.url}/a/${ACCOUNT}/operations?tab=schedules`);
  await page.getByRole('button', { name: 'New schedule' }).click();
  const schedule = { scheduleId: 'nightly', workflowId: 'call', cron: '0 3 * * *', timeZone: 'UTC' };
  await page.getByRole('textbox', { name: 'As JSON' }).fill(JSON.stringify(schedule));
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('nightly').waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No schedules yet').waitFor();

  await page.goto(`${stack.url}/a/${ACCOUNT}/operations?tab=audit`);
  const saving = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Save all as JSON Lines' }).click();
  const lines = readFileSync(await (await saving).path(), 'utf8')
    .trim()
    .split('\n');
  const entries = lines.map((line) => JSON.parse(line) as { n: number; kind: string });
  expect(entries.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['retention', 'erasure']));
  expect(entries.map(({ n }) => n)).toEqual(entries.map((_, i) => i + 1));
  clean();
});
