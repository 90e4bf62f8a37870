import { afterAll, beforeAll, expect, test } from 'vitest';
import { effectId } from '../functions/src/ledger/effects.ts';
import { commandDocument } from '../functions/src/model/client-documents.ts';
import { effectRecordSchema } from '../functions/src/model/effect.ts';
import type { EffectRecord } from '../functions/src/model/effect.ts';
import { paths } from '../functions/src/model/paths.ts';
import { runRecordSchema } from '../functions/src/model/run.ts';
import { signWebhook } from '../functions/src/services/webhooks/sign.ts';
import { ACCOUNT, Installation } from './installation.ts';
import { sendJson, startLocalServer } from './services/local-server.ts';
import type { LocalServer } from './services/local-server.ts';

/** One payment, whatever happens on the way: the bank is a server of its own, and knows no idempotency keys. */
const KEY = `whsec_${Buffer.from('a signing key of thirty-two byte').toString('base64')}`;
const payments: { readonly id: string; readonly invoice: string }[] = [];
let afterPayment: (() => Promise<void>) | undefined;
let bank: LocalServer;
let kiln: Installation;

beforeAll(async () => {
  bank = await startLocalServer({
    handle: async ({ method, query, body }, response) => {
      if (method === 'GET')
        return sendJson(response, 200, { payments: payments.filter(({ invoice }) => invoice === query.get('invoice')) });
      const payment = { id: `P${payments.length + 1}`, ...(JSON.parse(body.toString()) as { invoice: string }) };
      payments.push(payment);
      await afterPayment?.();
      sendJson(response, 200, { payments: [payment] });
    },
  });
  kiln = await Installation.start({
    name: 'payments',
    worker: true,
    env: { KILN_ALLOW_PRIVATE_HOSTS: new URL(bank.url).host, KILN_SECRETS: 'SHOP_KEY', SHOP_KEY: KEY },
    faults: { duplicate: 1 },
  });
  const invoice = '{{workflow_input.invoice}}';
  await kiln.publish('pay', {
    // The shop is trusted: it says which of our own invoices is due.
    guardTainted: false,
    steps: [
      {
        id: 'pay',
        type: 'http',
        method: 'POST',
        url: `${bank.url}/payments`,
        body: { invoice },
        timeout: '10s',
        effectKey: `payment:${invoice}`,
        confirm: { type: 'http', url: `${bank.url}/payments`, query: { invoice }, happened: 'size(output.json.payments) > 0' },
      },
    ],
  });
  const hook = {
    v: 1,
    accountId: ACCOUNT,
    hookId: 'shop',
    scheme: { kind: 'standard' },
    keys: ['SHOP_KEY'],
    target: { kind: 'start', workflowId: 'pay' },
    active: true,
  };
  await kiln.store.commit([{ op: 'set', path: paths.hook(ACCOUNT, 'shop'), data: hook }]);
}, 120_000);
afterAll(async () => {
  await kiln.close();
  await bank.close();
});

/** The shop delivers the invoice; answers the run that it started. What a dying process leaves unanswered the shop sends again. */
async function deliver(id: string, invoice: string): Promise<string> {
  const body = JSON.stringify({ invoice });
  const headers = signWebhook({ id, timestamp: kiln.clock.now(), body, keys: [KEY] });
  const send = async (): Promise<string> => {
    const response = await kiln.host.request('http', `/hooks/${ACCOUNT}/shop`, { method: 'POST', headers, body });
    return ((await response.json()) as { runId: string }).runId;
  };
  return send().catch(send);
}

async function effectOf(invoice: string): Promise<EffectRecord> {
  const { docs } = await kiln.store.get([paths.effect(ACCOUNT, effectId(`payment:${invoice}`))]);
  return effectRecordSchema.parse(docs[0]?.data);
}

test('a duplicate delivery, a crash after the call and before the record, and a replay: one payment, the prevented duplicates counted', async () => {
  let killed: Promise<void> | undefined;
  afterPayment = () => (killed ??= kiln.host.kill());
  // The same delivery twice at the same moment is one run; each of its documents is delivered twice as well.
  const [first, again] = await Promise.all([deliver('d1', 'R1'), deliver('d1', 'R1')]);
  expect(again).toBe(first);
  expect(await kiln.ended(first, 10_000)).toMatchObject({ status: 'completed' });
  expect(killed).toBeDefined();
  const step = (await kiln.steps(first)).get('pay');
  expect(step?.attempts.map(({ outcome }) => outcome)).toEqual(['lost', 'succeeded']);
  expect(step?.details).toBe('{"confirmed":true}');
  expect(payments).toEqual([{ id: 'P1', invoice: 'R1' }]);
  expect(await effectOf('R1')).toMatchObject({ state: 'settled', runId: first, prevented: 0 });

  // The shop lost its memory and sends it under another id.
  const second = await deliver('d2', 'R1');
  expect(second).not.toBe(first);
  expect(await kiln.ended(second)).toMatchObject({ status: 'completed' });

  // An operator does the paying step once more.
  const command = commandDocument({
    accountId: ACCOUNT,
    runId: first,
    by: 'op',
    at: kiln.clock.now(),
    kind: 'fork',
    reason: 'again',
    stepKey: 'pay',
  });
  await kiln.store.commit([{ op: 'create', path: paths.command(ACCOUNT, first, 'again'), data: command }]);
  await kiln.host.idle();
  const found = await kiln.store.query({ from: `accounts/${ACCOUNT}/runs`, where: [['workflowId', '==', 'pay']], limit: 10 });
  const runs = found.docs.map(({ data }) => runRecordSchema.parse(data));
  expect(runs.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
  expect(runs.filter(({ forkedFrom }) => forkedFrom?.runId === first)).toHaveLength(1);
  for (const { runId } of runs) expect(await kiln.output(runId)).toMatchObject({ json: { payments: [{ id: 'P1' }] } });

  expect(payments).toHaveLength(1);
  expect(await effectOf('R1')).toMatchObject({ state: 'settled', prevented: 2 });
}, 120_000);

test('another invoice is another payment', async () => {
  afterPayment = undefined;
  expect(await kiln.ended(await deliver('d3', 'R2'))).toMatchObject({ status: 'completed' });
  expect(payments.map(({ invoice }) => invoice)).toEqual(['R1', 'R2']);
});
