import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { zodProblems } from './zod-problems.ts';
import type { ZodProblemOptions } from './zod-problems.ts';

function said(schema: z.ZodType, value: unknown, options: Partial<ZodProblemOptions> = {}): string[] {
  const issues = schema.safeParse(value).error?.issues ?? [];
  return zodProblems(issues, value, { code: 'definition.invalid', ...options }).map(({ path, message }) => `${path}: ${message}`);
}

describe('a value of the wrong type', () => {
  test.each<[z.ZodType, unknown, string]>([
    [z.string(), null, 'this must be a string, not null'],
    [z.string(), [], 'this must be a string, not a list'],
    [z.string(), {}, 'this must be a string, not an object'],
    [z.string(), 1, 'this must be a string, not a number'],
    [z.string(), true, 'this must be a string, not a boolean'],
    [z.number(), 'x', 'this must be a number, not a string'],
    [z.int(), 'x', 'this must be a number, not a string'],
    [z.array(z.string()), {}, 'this must be a list, not an object'],
    [z.record(z.string(), z.string()), [], 'this must be an object, not a list'],
    [z.strictObject({}), 'x', 'this must be an object, not a string'],
    [z.string(), undefined, '"value" is missing; give a string'],
  ])('%#: %j', (schema, value, message) => {
    expect(said(schema, value)).toEqual([`: ${message}`]);
  });

  test('a field that is missing is named', () => {
    const schema = z.strictObject({ a: z.strictObject({ list: z.array(z.string()) }) });
    expect(said(schema, { a: {} }, { base: 'steps[0]' })).toEqual(['steps[0].a.list: "list" is missing; give a list']);
    expect(said(z.tuple([z.string(), z.number()]), ['x', 'y'])).toEqual(['[1]: this must be a number, not a string']);
  });
});

describe('one of several values', () => {
  test.each<[z.ZodType, unknown, string]>([
    [z.literal('a'), 'b', 'this must be "a"'],
    [z.literal('a'), 1, 'this must be "a"'],
    [z.enum(['one', 'two']), 'tow', 'this must be one of "one", "two"; the nearest to "tow" is "two"'],
    [z.enum(['one', 'two']), 1, 'this must be one of "one", "two"'],
    [z.literal([1, 'eleven', 2]), 'seven', 'this must be one of 1, "eleven", 2; the nearest to "seven" is "eleven"'],
    [z.literal([1, 2]), 'x', 'this must be one of 1, 2'],
    [z.enum(['one', 'two']), `two${'x'.repeat(200)}`, `this must be one of "one", "two"; the nearest to "two${'x'.repeat(97)}" is "two"`],
  ])('%#: %j', (schema, value, message) => {
    expect(said(schema, value)).toEqual([`: ${message}`]);
  });
});

describe('a field that is not there', () => {
  const schema = z.strictObject({ prompt: z.string().optional(), inner: z.strictObject({ a: z.string() }).optional() });
  const fieldsAt: ZodProblemOptions['fieldsAt'] = (path) =>
    path.length === 0 ? ['prompt', 'inner'] : path[0] === 'inner' ? ['a'] : undefined;

  test('the nearest is named where the fields are known', () => {
    expect(said(schema, { promt: 'x', other: 1 }, { fieldsAt })).toEqual([
      'promt: there is no field "promt" here; the nearest is "prompt"',
      'other: there is no field "other" here; the nearest is "inner"',
    ]);
    expect(said(schema, { inner: { a: 'x', b: 1 } }, { fieldsAt, base: 'steps[0]' })).toEqual([
      'steps[0].inner.b: there is no field "b" here; the nearest is "a"',
    ]);
  });
  test('otherwise it is to be removed; a long name is cut, half a character replaced', () => {
    expect(said(schema, { x: 1 })).toEqual(['x: there is no field "x" here; remove it']);
    expect(said(schema, { x: 1 }, { fieldsAt: () => [] })).toEqual(['x: there is no field "x" here; remove it']);
    expect(said(schema, { ['x'.repeat(200)]: 1 })[0]).toContain(`there is no field "${'x'.repeat(100)}" here`);
    expect(said(schema, { 'x\ud800': 1 })[0]).toContain('there is no field "x\ufffd" here');
  });
});

describe('alternatives', () => {
  test('of plain types are named together, each once', () => {
    expect(said(z.union([z.string(), z.number(), z.string().min(2)]), null)).toEqual([': this must be a string or number, not null']);
    expect(said(z.strictObject({ a: z.union([z.array(z.string()), z.string()]) }), { a: 1 })).toEqual([
      'a: this must be a list or string, not a number',
    ]);
  });
  test('are told apart by the field that says which', () => {
    const schema = z.discriminatedUnion('kind', [z.strictObject({ kind: z.literal('user') }), z.strictObject({ kind: z.literal('role') })]);
    expect(said(schema, { kind: 'rolle' })).toEqual(['kind: this must be one of "user", "role"; the nearest to "rolle" is "role"']);
  });
  test('the one that got furthest is explained', () => {
    const schema = z.strictObject({
      it: z.union([
        z.string(),
        z.strictObject({ source: z.literal('static'), items: z.array(z.number()) }),
        z.strictObject({ source: z.literal('step') }),
      ]),
    });
    expect(said(schema, { it: { source: 'static', items: [1, 'x'] } })).toEqual(['it.items[1]: this must be a number, not a string']);
    expect(said(schema, { it: { source: 'stat' } })).toEqual(['it.source: this must be "step"']);
    expect(said(schema, { it: { source: 'static', items: 'x' } })).toEqual(['it.items: this must be a list, not a string']);
    const deep = z.union([z.strictObject({ a: z.string(), b: z.string() }), z.strictObject({ a: z.string(), c: z.string() }), z.number()]);
    expect(said(deep, { a: 'x', b: 1 })).toEqual(['b: this must be a string, not a number']);
    expect(said(deep, { a: 'x', c: 1 })).toEqual(['c: this must be a string, not a number']);
    const mixed = z.union([z.number(), z.string().min(3)]);
    expect(said(mixed, 'x')).toEqual([expect.stringMatching(/^: .*3/)]);
  });
});

test('what zod says itself is passed on, that of a key or an element too', () => {
  expect(said(z.string().min(3, 'too short'), 'x')).toEqual([': too short']);
  expect(said(z.record(z.string().regex(/^[a-z]+$/, 'a key is in small letters'), z.number()), { A: 1 })).toEqual([
    'A: a key is in small letters',
  ]);
  expect(said(z.map(z.string(), z.string().min(2, 'too short')), new Map([['k', 'x']]))).toEqual(['k: too short']);
});

describe('a value that is not known yet', () => {
  const unknownYet = (value: unknown): boolean => typeof value === 'string' && value.includes('{{');
  const schema = z.strictObject({
    n: z.number(),
    deep: z.strictObject({ m: z.number() }).optional(),
    either: z.union([z.number(), z.strictObject({ x: z.number() })]).optional(),
  });
  test('has no problems, nor has anything inside it', () => {
    expect(said(schema, { n: '{{a}}' }, { unknownYet })).toEqual([]);
    expect(said(schema, { n: 1, deep: '{{a}}' }, { unknownYet })).toEqual([]);
    expect(said(schema, { n: 1, deep: { m: '{{a}}' } }, { unknownYet })).toEqual([]);
    expect(said(schema, '{{a}}', { unknownYet })).toEqual([]);
    expect(said(schema, { n: '{{a}}' })).toHaveLength(1);
  });
  test('excuses an alternative that fails by it alone', () => {
    expect(said(schema, { n: 1, either: { x: '{{a}}' } }, { unknownYet })).toEqual([]);
    expect(said(schema, { n: 1, either: { x: 'a' } }, { unknownYet })).toHaveLength(1);
    expect(said(schema, { n: 1, either: { x: '{{a}}', y: 1 } }, { unknownYet })).not.toEqual([]);
  });
  test('leaves the others', () => {
    expect(said(schema, { n: '{{a}}', deep: { m: 'x' } }, { unknownYet })).toEqual(['deep.m: this must be a number, not a string']);
  });
});
