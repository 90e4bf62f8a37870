import { expect, test } from 'vitest';
import { faultsOf } from './validate.ts';

const schema = {
  type: 'object',
  required: ['amount'],
  properties: { amount: { type: 'number', maximum: 100 }, name: { type: 'string', minLength: 2 } },
};

test('faults stand where the field stands', async () => {
  expect((await faultsOf(schema, {})).map((fault) => fault.path)).toEqual(['/amount']);
  expect((await faultsOf(schema, { amount: 200, name: 'x' })).map((fault) => fault.path)).toEqual(['/amount', '/name']);
});

test('a value that fits has no faults', async () => {
  expect(await faultsOf(schema, { amount: 5 })).toEqual([]);
});
