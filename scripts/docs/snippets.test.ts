import { describe, expect, test } from 'vitest';
import { KilnError } from '../../functions/src/model/errors.ts';
import { person } from '../../functions/src/testing/person.ts';
import { createTestKit } from '../../functions/src/testing/test-kit.ts';
import type { TestKit } from '../../functions/src/testing/test-kit.ts';
import { asObject, asString, parseJson } from '../json-objects.ts';
import { ROOT } from '../root.ts';
import { blocksOf, readPages } from './pages.ts';

/** The workflows that pages show, by their ids. */
const shown = new Map(
  readPages(ROOT)
    .filter(({ path }) => ['README.md', 'docs/graph-workflows.md', 'docs/approvals.md', 'docs/operating.md'].includes(path))
    .flatMap(blocksOf)
    .filter(({ words }) => words[0] === 'json' && words[1] === 'kiln')
    .map(({ text }) => parseJson(text))
    .map((json) => [asString(asObject(json)?.['id']) ?? '', json]),
);

const members = [
  person('ada', { departments: ['finance'] }, 'test'),
  person('bo', {}, 'test'),
  person('amir', { roles: ['admin'], departments: [] }, 'test'),
];

function kitFor(id: string): TestKit {
  const definition = shown.get(id);
  if (definition === undefined) throw new Error(`no page shows a workflow "${id}"`);
  return createTestKit({ definitions: { [id]: definition }, members });
}

async function outputOf(id: string, input: unknown = {}): Promise<unknown> {
  const kit = kitFor(id);
  return kit.result(await kit.start(id, input));
}

describe('the guide to graph workflows does what it says', () => {
  test('hello', async () => {
    expect(await outputOf('hello', { name: 'Ada' })).toBe('Hello Ada');
    const kit = kitFor('hello');
    expect(kit.run(await kit.start('hello', {})).status).toBe('rejected');
  });

  test('mappings', async () => {
    expect(await outputOf('mapped')).toBe(0);
  });

  test('conditions', async () => {
    expect(await outputOf('routed')).toBe('low');
  });

  test('loops within loops keep the order of the items', async () => {
    const orders = [{ lines: [{ sku: 'a' }, { sku: 'b' }] }, { lines: [] }, { lines: [{ sku: 'c' }] }];
    expect(await outputOf('orders', { orders })).toEqual([['a is number 0', 'b is number 1'], [], ['c is number 0']]);
  });

  test('parallel branches are seen by the steps after them', async () => {
    const kit = kitFor('fanned');
    kit.mockStep('stock', () => ({ status: 200, headers: {}, json: 4 }));
    kit.mockStep('price', () => ({ status: 200, headers: {}, json: 9.5 }));
    expect(await kit.result(await kit.start('fanned', { sku: 'x' }))).toEqual({ stock: 4, price: 9.5 });
  });

  test('an event that came early counts; without one the exception path is taken', async () => {
    const kit = kitFor('patient');
    const early = await kit.start('patient', { invoiceId: 'i-1' });
    await kit.sendEvent('invoice.paid', { amount: 5 }, { key: 'i-1' });
    await kit.advance('25h');
    expect(await kit.result(early)).toMatchObject({ timedOut: false, event: { payload: { amount: 5 } } });
    kit.mockStep('remind', () => 'reminded');
    const late = await kit.start('patient', { invoiceId: 'i-2' });
    await kit.advance('32d');
    expect(kit.step(late, 'paid.onException.remind')).toMatchObject({ state: 'succeeded' });
  });

  test('two people have to agree, and the admin is asked a day later', async () => {
    const kit = kitFor('asked');
    const run = await kit.start('asked', { customer: 'Muster AG' });
    await kit.approve(run, 'ada');
    expect(kit.run(run).status).toBe('running');
    await kit.approve(run, 'bo');
    expect(kit.run(run).status).toBe('completed');
    const slow = await kit.start('asked', { customer: 'Muster AG' });
    await kit.advance('25h');
    await kit.approve(slow, 'amir');
    expect(kit.run(slow).status).toBe('completed');
  });

  test('a rejection with a reason goes the way of its exception', async () => {
    const kit = kitFor('release-payment');
    const input = { supplier: 'Muster AG', amount: 900, iban: 'CH93 0076 2011 6238 5295 7' };
    const released = await kit.start('release-payment', input);
    await kit.approve(released, 'ada');
    expect(kit.run(released).status).toBe('completed');
    const rejected = await kit.start('release-payment', input);
    await kit.reject(rejected, 'ada', { comment: 'paid already' });
    expect(await kit.result(rejected)).toBe('paid already');
  });

  test('a workflow that is watched enters its states', async () => {
    const kit = kitFor('watched');
    const run = await kit.start('watched', {});
    expect(kit.run(run).businessState).toBe('received');
    await kit.advance('3d');
    expect(kit.run(run)).toMatchObject({ status: 'completed', businessState: 'paid' });
  });

  test('a booking that fails is tried five times', async () => {
    const kit = kitFor('careful');
    kit.mockStep('book', () => ({ status: 201, headers: {}, json: { id: 'b-1' } }));
    kit.failStep('book', 4, new KilnError('http.server_error', 'the hotel is down'));
    const run = await kit.start('careful', { guest: 'Ada', trip: 't-1' });
    await kit.advance('4m');
    expect(kit.step(run, 'book').attempts.map(({ outcome }) => outcome)).toEqual(['failed', 'failed', 'failed', 'failed', 'succeeded']);
    expect(await kit.result(run)).toBe('booked');
  });
});

describe('the invoice of the README', () => {
  const started = async (amount: number): Promise<{ kit: TestKit; run: Awaited<ReturnType<TestKit['start']>> }> => {
    const kit = kitFor('invoice');
    kit.mockStep('read', () => ({ supplier: 'Muster AG', amount }));
    kit.mockStep('pay', () => ({ status: 202, headers: {}, json: { paid: true } }));
    return { kit, run: await kit.start('invoice', { number: '4711', text: 'Invoice …' }) };
  };

  test.each([999, 999.5])('%d is paid without a question', async (amount) => {
    const { kit, run } = await started(amount);
    expect(await kit.result(run)).toMatchObject({ json: { paid: true } });
  });

  test.each([4_200, 4_200.5])('%d waits for finance, and is paid when they release it', async (amount) => {
    const { kit, run } = await started(amount);
    expect(kit.waitingAt(run)).toEqual(['large.then.release']);
    await kit.approve(run, 'ada');
    expect(kit.run(run).status).toBe('completed');
  });

  test('a rejection ends it with its own code, and nothing is paid', async () => {
    const { kit, run } = await started(4_200);
    await kit.reject(run, 'ada');
    expect(kit.run(run)).toMatchObject({ status: 'failed', error: { code: 'not_released' } });
    expect(kit.steps(run).some(({ key }) => key === 'pay')).toBe(false);
  });
});
