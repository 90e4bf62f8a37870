import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Json } from '../../functions/src/engine/json.ts';
import { parseDefinition } from '../../functions/src/engine/preflight.ts';
import { checkSchema, validateAgainst } from '../../functions/src/engine/schema-check.ts';
import { stepCommonSchema } from '../../functions/src/model/definition.ts';
import { createStepRegistry } from '../../functions/src/steps/index.ts';
import { DEFINITION_SCHEMA, generatedDefinitionSchema } from '../generate-schemas.ts';
import { ROOT } from '../root.ts';
import { fieldComments } from './comments.ts';
import { definitionJsonSchema } from './definition-schema.ts';

const schema = definitionJsonSchema();
const flow = (step: Json): Json => ({ id: 'w', steps: [step] });
const problemsOf = (definition: Json): string[] => validateAgainst(schema, definition).map(({ path }) => path);

test('the generated file is up to date', async () => {
  const text = readFileSync(DEFINITION_SCHEMA, 'utf8');
  expect(text === (await generatedDefinitionSchema()), 'run: npm run generate').toBe(true);
});

test('it is a usable JSON Schema', () => {
  expect(checkSchema(schema)).toEqual([]);
});

test('every step type is in it, with its title, its description and its own fields', () => {
  const defs = schema['$defs'] as { readonly [name: string]: { readonly [keyword: string]: Json } };
  for (const type of createStepRegistry().all()) {
    expect(defs[`${type.type}Step`]).toMatchObject({ title: type.title, description: type.description, additionalProperties: false });
  }
  expect(defs['step']).toMatchObject({ properties: { type: { enum: createStepRegistry().names() } } });
  expect(Object.keys((defs['common']?.['properties'] ?? {}) as object)).toEqual(Object.keys(stepCommonSchema.shape));
  expect(defs['waitStep']).toMatchObject({
    properties: { event: { anyOf: [{ properties: { match: { description: 'CEL over event and vars.' } } }, {}] } },
  });
});

test('the samples fit it', () => {
  const folder = join(ROOT, 'functions', 'samples');
  const samples = readdirSync(folder).filter((name) => name.endsWith('.json'));
  expect(samples.length).toBeGreaterThan(0);
  for (const sample of samples) expect(problemsOf(JSON.parse(readFileSync(join(folder, sample), 'utf8')) as Json)).toEqual([]);
});

test.each<[string, Json]>([
  ['a template in the place of a number', { id: 'a', type: 'recipe', prompt: 'x', temperature: '{{workflow_input.t}}' }],
  ['a mapping', { id: 'a', type: 'action', action: 'x', inputs: { i: { source: 'previousStep', stepId: 'b' }, j: [1] } }],
  ['nested lists', { id: 'p', type: 'parallel', branches: { l: [{ id: 'c', type: 'condition', if: 'true', then: [] }] } }],
  ['an exception path', { id: 'a', type: 'transform', value: 1, onException: { no: [{ id: 'b', type: 'fail', code: 'x' }] } }],
])('%s fits, as it does in the model', (_, step) => {
  expect(problemsOf(flow(step))).toEqual([]);
  expect(parseDefinition(flow(step)).problems).toEqual([]);
});

test.each<[string, Json]>([
  ['an unknown type', { id: 'a', type: 'recpe', prompt: 'x' }],
  ['an unknown field', { id: 'a', type: 'recipe', prompt: 'x', promt: 'y' }],
  ['a missing field', { id: 'a', type: 'action' }],
  ['no id', { type: 'transform', value: 1 }],
  ['an id that is none', { id: '1a', type: 'transform', value: 1 }],
  ['a number that is none', { id: 'a', type: 'recipe', prompt: 'x', temperature: 'warm' }],
  ['half a mapping', { id: 'a', type: 'action', action: 'x', inputs: { i: { source: 'previousStep' } } }],
  ['a fault in a nested step', { id: 'l', type: 'loop', over: { source: 'static', items: [] }, steps: [{ id: 'b', type: 'nope' }] }],
])('%s does not fit', (_, step) => {
  expect(problemsOf(flow(step))).not.toEqual([]);
});

test('a comment belongs to the field that follows it, in its declaration', () => {
  const source = [
    'export const a = z.object({',
    '  /** One. */',
    '  x: z.string(),',
    '  y: 1,',
    '});',
    'interface B {',
    '  /**',
    '   * Two',
    '   * `lines`.',
    '   */',
    '  readonly x?: string;',
    '}',
  ].join('\n');
  const comments = fieldComments(source);
  expect([comments.get('a')?.get('x'), comments.get('a')?.get('y'), comments.get('B')?.get('x')]).toEqual([
    'One.',
    undefined,
    'Two lines.',
  ]);
});
