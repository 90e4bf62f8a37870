import { expect, test } from 'vitest';
import { fieldOf, initialValue, valueAt, withValueAt, type Field } from './fields.ts';

function fieldsOf(field: Field): readonly Field[] {
  return field.kind === 'object' ? field.fields : [];
}

const invoice = {
  type: 'object',
  required: ['amount', 'supplier', 'lines'],
  properties: {
    amount: { type: 'number', minimum: 0 },
    supplier: { $ref: '#/$defs/supplier' },
    currency: { enum: ['CHF', 'EUR'], default: 'CHF' },
    dueDate: { type: 'string', format: 'date' },
    note: { type: ['string', 'null'], maxLength: 2_000, description: 'Shown to the approver.' },
    urgent: { type: 'boolean' },
    lines: { type: 'array', items: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } } },
    anything: {},
  },
  $defs: { supplier: { type: 'string', title: 'Who is paid' } },
};

test('each kind of property becomes its field, with label, help and whether it is needed', () => {
  const fields = fieldsOf(fieldOf(invoice));
  expect(fields.map((field) => `${field.path} ${field.kind} ${field.label}${field.required ? ' *' : ''}`)).toEqual([
    '/amount number Amount *',
    '/supplier text Who is paid *',
    '/lines list Lines *',
    '/currency choice Currency',
    '/dueDate text Due date',
    '/note text Note',
    '/urgent boolean Urgent',
    '/anything json Anything',
  ]);
  expect(fields[4]).toMatchObject({ format: 'date' });
  expect(fields[5]).toMatchObject({ long: true, help: 'Shown to the approver.' });
});

test('a form starts with defaults and with empty lists that are needed', () => {
  expect(initialValue(invoice)).toEqual({ currency: 'CHF', lines: [] });
  const lines = { type: 'array', minItems: 1, items: { type: 'object', properties: { text: { type: 'string' } } } };
  expect(initialValue({ type: 'object', required: ['lines'], properties: { lines } })).toEqual({ lines: [{}] });
});

test('a schema that refers to itself ends as JSON instead of an endless form', () => {
  const tree = { $ref: '#/$defs/node', $defs: { node: { type: 'object', properties: { child: { $ref: '#/$defs/node' } } } } };
  let field: Field | undefined = fieldOf(tree);
  for (let depth = 0; depth < 10 && field?.kind === 'object'; depth += 1) field = field.fields[0];
  expect(field?.kind).toBe('json');
  expect(fieldOf({ $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } }).kind).toBe('json');
});

test('values are read and set by pointer without touching the original; keys with slashes work', () => {
  const value = { a: [{ 'x/y': 1 }], b: 2 };
  expect(valueAt(value, '/a/0/x~1y')).toBe(1);
  expect(withValueAt(value, '/a/0/x~1y', 5)).toEqual({ a: [{ 'x/y': 5 }], b: 2 });
  expect(withValueAt(value, '/b', undefined)).toEqual({ a: [{ 'x/y': 1 }] });
  expect(withValueAt(value, '/a/0', undefined)).toEqual({ a: [], b: 2 });
  expect(withValueAt(undefined, '/new/deep', true)).toEqual({ new: { deep: true } });
  expect(value.b).toBe(2);
});

test('inherited properties are no values', () => {
  expect(valueAt({}, '/constructor')).toBeUndefined();
  expect(valueAt({}, '/__proto__')).toBeUndefined();
});

test('choices with titles', () => {
  const field = fieldOf({ oneOf: [{ const: 'a', title: 'First' }, { const: 2 }] });
  expect(field).toMatchObject({
    kind: 'choice',
    options: [
      { value: 'a', label: 'First' },
      { value: 2, label: '2' },
    ],
  });
});
