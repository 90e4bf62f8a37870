import { expect, test } from 'vitest';
import type { StepConfig } from '../model/definition.ts';
import type { Json } from './json.ts';
import { outputSchemaOf } from './output-schema.ts';
import type { StepTypeCatalog, StepTypeFacts } from './output-schema.ts';

const facts: Readonly<Record<string, Partial<StepTypeFacts>>> = {
  silent: {},
  mute: { outputSchema: () => undefined },
  echo: { outputSchema: ({ says }) => ({ const: says ?? null }) },
};
const types: StepTypeCatalog = {
  find: (type) => facts[type] as StepTypeFacts | undefined,
  names: () => Object.keys(facts),
};

const of = (step: object): Json | undefined => outputSchemaOf({ id: 'it', ...step } as StepConfig, types);

const object = (properties: { [name: string]: Json }): Json => ({ type: 'object', properties, additionalProperties: false });
const failed: Json = { type: 'object', properties: { error: { type: 'object' } }, required: ['error'], additionalProperties: false };
const loop = { type: 'loop', over: [1], steps: [] };
const parallel = { type: 'parallel', branches: { a: [], b: [] } };
const settled = object({ status: { type: 'string' }, value: true, reason: true });

test.each<[string, object, Json]>([
  [
    'a condition',
    { type: 'condition', if: 'true', then: [] },
    object({ branch: { enum: ['then', 'else'], type: 'string' }, value: { type: 'boolean' } }),
  ],
  ['a loop', loop, { type: 'array' }],
  ['a loop that collects all', { ...loop, collect: 'all' }, { type: 'array' }],
  ['a loop that only counts', { ...loop, collect: 'none' }, object({ count: { type: 'integer' } })],
  ['a parallel step', parallel, object({ a: settled, b: settled })],
  ['one in which all settle', { ...parallel, policy: 'settled' }, object({ a: settled, b: settled })],
  ['one in which all have to succeed', { ...parallel, policy: 'all' }, object({ a: true, b: true })],
  ['one in which the first is enough', { ...parallel, policy: 'any' }, object({ branch: { type: 'string' }, value: true })],
  ['a type that says it by its configuration', { type: 'echo', says: 'hello' }, { const: 'hello' }],
])('%s has this output, or the error that was passed over', (_name, step, schema) => {
  expect(of(step)).toEqual({ anyOf: [schema, failed] });
});

test.each(['silent', 'mute', 'unheard-of'])('nothing is known of the output of the type %s', (type) => {
  expect(of({ type })).toBeUndefined();
});
