import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { ROOT } from '../../scripts/root.ts';
import { cases } from './cases.ts';
import { RulesClient } from './client.ts';
import { ruleCoverage } from './coverage.ts';
import { build } from './world.ts';

let client: RulesClient;
/** For large documents: the coverage report repeats every value that it saw. */
let roomy: RulesClient;

const LARGE = 10_000;

beforeAll(async () => {
  const rules = readFileSync(join(ROOT, 'firestore.rules'), 'utf8');
  client = new RulesClient(inject('firestoreHost'), 'demo-kiln-rules');
  roomy = new RulesClient(inject('firestoreHost'), 'demo-kiln-rules-roomy');
  for (const one of [client, roomy]) {
    await one.loadRules(rules);
    await build(one);
  }
});

const verbs = ['get', 'list', 'create', 'update', 'delete'] as const;

describe.each(verbs)('%s', (verb) => {
  const table = cases.filter(({ request }) => request.verb === verb);

  test('is tried by everybody', () => {
    expect(table.length).toBeGreaterThan(100);
  });

  test.each(table.map((one) => [one.allow ? 'allowed' : 'refused', one.name, one] as const))('%s: %s', async (_expected, _name, one) => {
    const by = JSON.stringify(one.request).length > LARGE ? roomy : client;
    expect(await by.answer(one.as, one.request)).toBe(one.allow);
  });
});

test('a decision that exists is never made again or changed by its maker', async () => {
  const path = 'accounts/acme/approvals/open/decisions/second';
  const valid = cases.find(({ name }) => name === 'second creates a decision: by another approver') ?? expect.unreachable();
  expect(await client.allows('second', valid.request)).toBe(true);
  await expect(client.allows('second', valid.request)).rejects.toThrow('409');
  expect(await client.allows('second', { verb: 'update', path, doc: { outcome: 'reject' } })).toBe(false);
  expect(await client.allows('second', { verb: 'delete', path })).toBe(false);
  await client.remove(path);
});

test('every expression of the rules was evaluated', async () => {
  const { expressions, unevaluated } = ruleCoverage(await client.coverage());
  expect(expressions).toBeGreaterThan(500);
  expect(unevaluated).toEqual([]);
});
