import { expect, test } from 'vitest';
import { de } from '../text/de/index.ts';
import { en } from '../text/en/index.ts';
import { faultText } from './fault-text.ts';
import { faultsOf } from './validate.ts';

const schema = {
  type: 'object',
  required: ['number', 'amount', 'currency', 'lines'],
  properties: {
    number: { type: 'string', minLength: 1 },
    amount: { type: 'number', exclusiveMinimum: 0 },
    currency: { type: 'string', pattern: '^[A-Z]{3}$' },
    lines: { type: 'array', minItems: 1, items: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } } },
  },
};

test('people read what they have to enter, with the bound that the schema names', async () => {
  const value = { number: '', amount: 0, currency: 'francs', lines: [] };
  const faults = await faultsOf(schema, value);
  expect(Object.fromEntries(faults.map((fault) => [fault.path, faultText(fault, en)]))).toEqual({
    '/number': 'This is needed.',
    '/amount': 'More than 0.',
    '/currency': 'It has to look like ^[A-Z]{3}$.',
    '/lines': 'At least 1 of these.',
  });
  expect(faults.map((fault) => faultText(fault, de))).toContain('Mehr als 0.');
});

test('a fault inside a list is reported there alone', async () => {
  const faults = await faultsOf(schema, { number: '1', amount: 1, currency: 'CHF', lines: [{}] });
  expect(faults.map((fault) => [fault.path, faultText(fault, en)])).toEqual([['/lines/0/text', 'This is needed.']]);
});

test('what has no words of its own is said in the validator’s', async () => {
  const [fault] = await faultsOf({ type: 'object', properties: { a: { const: 1 } } }, { a: 2 });
  expect(fault === undefined ? '' : faultText(fault, en)).toBe(fault?.message);
});
