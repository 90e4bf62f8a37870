import { describe, expect, test } from 'vitest';
import { kilnErrorOf } from '../testing/kiln-error.ts';
import { PAYLOAD_MAX_BYTES } from './json.ts';
import type { Json } from './json.ts';
import { referencesIn, resolveTemplates, walkPath } from './templates.ts';

const input: Json = { name: 'Ada', age: 36, none: [], list: [1, 2], empty: {}, user: { 'first name': 'Ada' } };
const fill = (config: Json, root: Json | undefined = input): Json => resolveTemplates(config, () => root);

describe('what a reference finds instead is said', () => {
  test.each<[string, string, object]>([
    [
      '{{workflow_input.nam}}',
      'workflow_input has no path nam: workflow_input has no key "nam"; the nearest is "name".',
      { path: 'nam', at: '', nearest: 'name' },
    ],
    [
      '{{workflow_input["last name"].x}}',
      'workflow_input has no path ["last name"].x: workflow_input has no key "last name"; the nearest is "name".',
      { path: '["last name"].x', at: '', nearest: 'name' },
    ],
    [
      '{{workflow_input.user["first nam"]}}',
      'workflow_input has no path user["first nam"]: workflow_input at user has no key "first nam"; the nearest is "first name".',
      { path: 'user["first nam"]', at: 'user', nearest: 'first name' },
    ],
    [
      '{{workflow_input.none[0].x}}',
      'workflow_input has no path none[0].x: workflow_input at none is an empty list.',
      { path: 'none[0].x', at: 'none' },
    ],
    [
      '{{workflow_input.list[2]}}',
      'workflow_input has no path list[2]: workflow_input at list is a list with the positions [0] to [1].',
      { path: 'list[2]', at: 'list' },
    ],
    [
      '{{workflow_input.empty.x}}',
      'workflow_input has no path empty.x: workflow_input at empty is an empty object.',
      { path: 'empty.x', at: 'empty' },
    ],
    [
      '{{workflow_input.name.x}}',
      'workflow_input has no path name.x: workflow_input at name is a string, which has no parts.',
      { path: 'name.x', at: 'name' },
    ],
  ])('%s', (text, message, data) => {
    const error = kilnErrorOf(() => fill(text));
    expect([error.code, error.message]).toEqual(['template.missing_path', message]);
    expect(error.data).toStrictEqual({ from: 'workflow_input', ...data });
  });

  test.each([
    ['{{loop_item.x}}', 'there is no loop_item outside a loop.'],
    ['{{loop_index}}', 'there is no loop_index outside a loop.'],
    ['{{workflow_input.x}}', 'there is no workflow_input here.'],
    ['{{run.id}}', 'there is no run here.'],
    ['{{input.x}}', 'there is no input here.'],
  ])('%s where there is none', (text, reason) => {
    const error = kilnErrorOf(() => resolveTemplates(text, () => undefined));
    expect([error.code, error.message]).toEqual(['template.missing_step', `${text}: ${reason}`]);
    expect(error.data).toStrictEqual({ reference: text });
  });

  test('a place is a JSON pointer; that of a text on its own is empty', () => {
    expect(kilnErrorOf(() => fill('{{')).data).toMatchObject({ place: '' });
    expect(kilnErrorOf(() => resolveTemplates({ a: ['{{secret.KEY}}'] }, () => input, { keepSecrets: false })).message).toBe(
      '{{secret.KEY}} at /a/0 is not in a field that goes outside.',
    );
  });
});

describe('the size', () => {
  test('of what is filled in is counted to the byte, and where it is too much is said', () => {
    const most = 'x'.repeat(PAYLOAD_MAX_BYTES);
    expect(fill(most)).toBe(most);
    const error = kilnErrorOf(() => fill({ a: most, b: ['é'] }));
    expect([error.code, error.message]).toEqual([
      'template.too_large',
      `Filled in, the configuration is over ${PAYLOAD_MAX_BYTES} bytes at /b/0.`,
    ]);
    expect(error.data).toEqual({ place: '/b/0' });
  });
});

test('what is no text stays as it is, wherever it stands', () => {
  for (const value of [5, null, true, { a: 1, b: [false, null, { c: 2.5 }], d: [] }]) {
    expect(fill(value)).toEqual(value);
    expect(referencesIn(value)).toEqual([]);
  }
});

test('the references of a text are all that is between its braces', () => {
  expect(referencesIn('Hello {{input.name}}, {{run.id}}!').map(({ text }) => text)).toEqual(['{{input.name}}', '{{run.id}}']);
});

test('a step’s own input is a root like the others', () => {
  expect(fill('{{input.user["first name"]}}')).toBe('Ada');
});

test('a value is looked up once, however often it is named', () => {
  let asked = 0;
  const filled = resolveTemplates(['{{input.age}}', 'x{{input.age}}', '{{input.name}}'], () => {
    asked += 1;
    return input;
  });
  expect([filled, asked]).toEqual([[36, 'x36', 'Ada'], 2]);
});

test('a position is none of an object, and a key none of a list', () => {
  expect(walkPath({ '0': 1 }, [0])).toBeUndefined();
  expect(walkPath([1], ['0'])).toBeUndefined();
});
