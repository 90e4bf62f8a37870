import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canonicalJson } from '../functions/src/engine/json.ts';
import type { Json } from '../functions/src/engine/json.ts';
import { eventRecord } from '../functions/src/ledger/events.ts';
import { storePayload } from '../functions/src/ledger/payloads.ts';
import { eventRecordSchema } from '../functions/src/model/event.ts';
import type { EventRecord } from '../functions/src/model/event.ts';
import { paths } from '../functions/src/model/paths.ts';
import { runRecordSchema } from '../functions/src/model/run.ts';
import type { RunRecord } from '../functions/src/model/run.ts';
import { Outside } from './code-outside.ts';
import { ACCOUNT, Installation } from './installation.ts';

/** What starts runs of code workflows by itself, on the deployed functions: everything is delivered twice, and often late. */
const KEY = 'kiln:devops-password';
const outside = new Outside({ '/workitems/5': { title: 'The cart forgets', description: 'It does', priority: 2 } });
let kiln: Installation;

beforeAll(async () => {
  const env = await outside.start('devops');
  kiln = await Installation.start({
    name: 'code-triggers',
    functions: new URL('fixtures/watching.ts', import.meta.url),
    env: { ...env, KILN_SECRETS: 'DEVOPS_KEY', DEVOPS_KEY: KEY },
    faults: { duplicate: 1, delay: 0.3 },
  });
  await kiln.store.commit([{ op: 'update', path: paths.member(ACCOUNT, 'ann'), data: { departments: ['product', 'accounting'] } }]);
});
afterAll(async () => {
  await kiln.close();
  await outside.close();
});

async function runsOf(workflowId: string): Promise<readonly RunRecord[]> {
  await kiln.host.idle();
  const found = await kiln.store.query({ from: `accounts/${ACCOUNT}/runs`, where: [['workflowId', '==', workflowId]], limit: 10 });
  return found.docs.map(({ data }) => runRecordSchema.parse(data));
}

async function eventsOf(name: string): Promise<readonly EventRecord[]> {
  await kiln.host.idle();
  const found = await kiln.store.query({ from: paths.events(ACCOUNT), where: [['name', '==', name]], limit: 10 });
  return found.docs.map(({ data }) => eventRecordSchema.parse(data));
}

test('an event starts one run of the workflow that declares it', async () => {
  const now = kiln.clock.now();
  const payload: Json = {
    subscriptionId: 's-1',
    email: 'c@example.org',
    renewsAt: new Date(now + 200 * 86_400_000).toISOString(),
    everyMonths: 6,
  };
  const stored = storePayload({ accountId: ACCOUNT, runId: 'e1' }, '$event', canonicalJson(payload));
  const event = { eventId: 'e1', name: 'subscription.started', payload, source: 'test' };
  await kiln.store.commit([{ op: 'create', path: paths.event(ACCOUNT, 'e1'), data: eventRecord(ACCOUNT, event, stored.payload, now) }]);
  expect(await runsOf('subscription-reminder')).toMatchObject([
    { status: 'running', startedBy: { kind: 'event', id: 'subscription.started' }, startKey: 'event:e1' },
  ]);
  expect(await eventsOf('subscription.started')).toMatchObject([{ state: 'handled', taken: 0 }]);
});

test('a service hook of Azure DevOps starts one run for each delivery that the workflow is for', async () => {
  const hook = {
    v: 1,
    accountId: ACCOUNT,
    hookId: 'devops',
    scheme: { kind: 'azure_devops' },
    keys: ['DEVOPS_KEY'],
    target: { kind: 'start', workflowId: 'copy-to-clickup' },
    active: true,
  };
  await kiln.store.commit([{ op: 'set', path: paths.hook(ACCOUNT, 'devops'), data: hook }]);
  const fields = { 'System.TeamProject': 'Shop', 'System.WorkItemType': 'Bug', 'System.State': 'New', 'System.Title': 'The cart forgets' };
  const resource = { id: 5, rev: 1, fields, url: 'https://dev.azure.com/example/_apis/wit/workItems/5' };
  const post = async (eventType: string, password: string): Promise<number> => {
    const headers = { 'content-type': 'application/json', authorization: `Basic ${Buffer.from(password).toString('base64')}` };
    const body = JSON.stringify({ id: 'd2d46fb1', publisherId: 'tfs', eventType, resource });
    return (await kiln.host.request('http', `/hooks/${ACCOUNT}/devops`, { method: 'POST', headers, body })).status;
  };
  expect(await post('workitem.created', 'kiln:wrong')).toBe(401);
  expect(await post('workitem.updated', KEY)).toBe(202);
  expect(await runsOf('copy-to-clickup')).toEqual([]);
  expect(await Promise.all([post('workitem.created', KEY), post('workitem.created', KEY)])).toEqual([202, 202]);
  const [run, ...more] = await runsOf('copy-to-clickup');
  expect(more).toEqual([]);
  expect(run).toMatchObject({ status: 'running', tainted: true, startedBy: { kind: 'webhook', id: 'devops' } });
  expect(await kiln.approvalOf(run?.runId ?? '')).toMatchObject([{ stepKey: 'release' }]);
});

describe('a path of the team’s own data that is watched', () => {
  test('a document that is created starts one run, which sees its fields', async () => {
    const text = 'Muster AG\nInvoice R-77\nTotal CHF 42.50\nDue 2026-02-01';
    await kiln.host
      .firestore()
      .doc('inbox/d1')
      .set({ text, receivedFrom: 'Muster AG', receivedAt: new Date(0) });
    const [run, ...more] = await runsOf('document-intake');
    expect(more).toEqual([]);
    expect(run).toMatchObject({ startedBy: { kind: 'event', id: 'document:inbox/d1' }, tainted: true });
    expect(JSON.parse(run?.input.json ?? '{}')).toEqual({
      path: 'inbox/d1',
      params: { documentId: 'd1' },
      change: 'created',
      data: { text, receivedFrom: 'Muster AG', receivedAt: '1970-01-01T00:00:00.000Z' },
    });
    // A change of it is no other document.
    await kiln.host.firestore().doc('inbox/d1').update({ text: 'again' });
    expect(await runsOf('document-intake')).toHaveLength(1);
  });

  test('each change of a document is one event, in the account that its path names', async () => {
    const order = kiln.host.firestore().doc(`accounts/${ACCOUNT}/orders/o1`);
    await order.set({ total: 1 });
    await order.update({ total: 2 });
    await order.delete();
    const changes = (await eventsOf(`document:accounts/${ACCOUNT}/orders/o1`)).map(
      ({ payload }) => JSON.parse(payload.json ?? '{}') as Json,
    );
    const about = { path: `accounts/${ACCOUNT}/orders/o1`, params: { accountId: ACCOUNT, orderId: 'o1' } };
    expect(changes).toHaveLength(3);
    expect(changes).toEqual(
      expect.arrayContaining([
        { ...about, change: 'created', data: { total: 1 } },
        { ...about, change: 'updated', data: { total: 2 } },
        { ...about, change: 'deleted', data: null },
      ]),
    );
  });
});
