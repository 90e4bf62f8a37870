import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isOrderly, kilnErrorOf } from '../testing/kiln-error.ts';
import { canonicalJson, PAYLOAD_MAX_BYTES, parseJson } from './json.ts';
import type { Json } from './json.ts';
import { parsePath, referencesIn, requirePath, resolveSecrets, resolveTemplates, templatesIn, walkPath } from './templates.ts';
import type { Reference } from './templates.ts';

const data: Record<string, Json> = {
  workflow_input: { amount: 1000.5, zero: 0, no: false, empty: '', nothing: null, list: [1, [2, 3]], user: { name: 'Ada', 'a.b': 1 } },
  'step:fetch': { body: { items: [{ id: 7 }], total: 1 }, text: 'see {{workflow_input.amount}}' },
  loop_item: { field: 'x' },
  loop_index: 0,
  run: { id: 'r1' },
};

function lookup(reference: Reference): Json | undefined {
  return data[reference.root === 'step' ? `step:${reference.stepId}` : reference.root];
}

function fill(config: Json): Json {
  return resolveTemplates(config, lookup);
}

describe('V7', () => {
  test.each<[string, Json]>([
    ['{{workflow_input.amount}}', 1000.5],
    ['{{ workflow_input.zero }}', 0],
    ['{{workflow_input.no}}', false],
    ['{{workflow_input.empty}}', ''],
    ['{{workflow_input.nothing}}', null],
    ['{{workflow_input.list}}', [1, [2, 3]]],
    ['{{workflow_input.list[1][0]}}', 2],
    ['{{workflow_input.user}}', { name: 'Ada', 'a.b': 1 }],
    ['{{workflow_input.user["a.b"]}}', 1],
    ['{{step.fetch.body.items[0].id}}', 7],
    ['{{step["fetch"].body.total}}', 1],
    ['{{loop_item.field}}', 'x'],
    ['{{loop_index}}', 0],
    ['{{run.id}}', 'r1'],
  ])('V7 a lone template keeps its type: %s', (text, expected) => {
    expect(fill({ deep: [text] })).toEqual({ deep: [expected] });
  });

  test('V7 mixed text: strings as they are, the rest as canonical JSON', () => {
    const text =
      'to {{workflow_input.user.name}}: {{workflow_input.zero}}/{{workflow_input.no}}/{{workflow_input.nothing}}/{{workflow_input.empty}}|{{workflow_input.user}}{{workflow_input.list}}';
    expect(fill(text)).toBe('to Ada: 0/false/null/|{"a.b":1,"name":"Ada"}[1,[2,3]]');
  });

  test('V7 inserted text is never expanded again', () => {
    expect(fill('{{step.fetch.text}}')).toBe('see {{workflow_input.amount}}');
    expect(fill('> {{step.fetch.text}}')).toBe('> see {{workflow_input.amount}}');
    expect(fill(['{', '{{workflow_input.user.name}}', '}'])).toEqual(['{', 'Ada', '}']);
  });

  test('V7 a missing path names step, path and the nearest key', () => {
    const error = kilnErrorOf(() => fill({ subject: '{{step.fetch.body.itmes[0].id}}' }));
    expect(error.code).toBe('template.missing_path');
    expect(error.message).toBe(
      'step "fetch" has no path body.itmes[0].id: step "fetch" at body has no key "itmes"; the nearest is "items".',
    );
    expect(error.data).toEqual({ from: 'step "fetch"', path: 'body.itmes[0].id', at: 'body', nearest: 'items' });
  });

  test.each([
    ['{{workflow_input.list[9]}}', 'workflow_input at list is a list with the positions [0] to [1].'],
    ['{{workflow_input.list.first}}', 'workflow_input at list is a list with the positions [0] to [1].'],
    ['{{workflow_input.nothing.x}}', 'workflow_input at nothing is null.'],
    ['{{workflow_input.amount.x}}', 'workflow_input at amount is a number, which has no parts.'],
    ['{{workflow_input.User}}', 'the nearest is "user".'],
  ])('V7 a missing path says what is there instead: %s', (text, hint) => {
    expect(kilnErrorOf(() => fill(text)).message).toContain(hint);
  });

  test('V7 a step that has not run is named', () => {
    const error = kilnErrorOf(() => fill('x {{step.later.id}}'));
    expect(error.code).toBe('template.missing_step');
    expect(error.message).toContain('step "later"');
    expect(error.data).toEqual({ reference: '{{step.later.id}}', stepId: 'later' });
  });

  test.each<[string, Json]>([
    ['{{step.later.id | default: null}}', null],
    ['{{step.fetch.nope|default:{"a":{"b":"}}"}}}}', { a: { b: '}}' } }],
    ['{{workflow_input.nope | default: [1, "x"] }}', [1, 'x']],
    ['{{workflow_input.zero | default: 5}}', 0],
    ['{{workflow_input.no | default: true}}', false],
    ['{{workflow_input.empty | default: "x"}}', ''],
    ['{{workflow_input.nothing | default: "x"}}', null],
    ['id {{step.later.id | default: "-"}}.', 'id -.'],
  ])('V7 a declared default is taken only when the path is missing: %s', (text, expected) => {
    expect(fill(text)).toEqual(expected);
  });
});

describe('V9', () => {
  test.each(['__proto__', 'prototype', 'constructor'])('V9 %s is refused when the template is read', (name) => {
    const escaped = `\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}`;
    for (const text of [`{{step.fetch.${name}.polluted}}`, `{{step.fetch["${name}"]}}`, `{{step.fetch["${escaped}"]}}`]) {
      expect(kilnErrorOf(() => fill(text)).code).toBe('template.syntax');
    }
    expect(kilnErrorOf(() => referencesIn(`{{workflow_input.${name}}}`)).code).toBe('template.syntax');
  });

  test.each([
    '{{workflow_input.list.length}}',
    '{{workflow_input.empty.length}}',
    '{{workflow_input.toString}}',
    '{{workflow_input.hasOwnProperty}}',
    '{{workflow_input.list["0"]}}',
    '{{workflow_input.list.map}}',
    '{{workflow_input.user.name[0]}}',
    '{{workflow_input.user[0]}}',
    '{{workflow_input.valueOf}}',
  ])('V9 %s is a missing path', (text) => {
    expect(kilnErrorOf(() => fill(text)).code).toBe('template.missing_path');
    expect(fill(text.replace('}}', ' | default: 1}}'))).toBe(1);
  });

  test('V9 an own key __proto__ in a configuration stays a key', () => {
    const filled = fill(parseJson('{"__proto__":{"polluted":"{{workflow_input.zero}}"}}'));
    expect(canonicalJson(filled)).toBe('{"__proto__":{"polluted":0}}');
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

describe('V5', () => {
  test.each(['a.b', 'a/b', 'a[0]', '0', '1a', '__x__', '', '🙂', 'say "hi"', 'back\\slash', '}}', '{{x}}', 'k'.repeat(1_500)])(
    'V5 the key %j can be referenced',
    (key) => {
      const root = { [key]: { found: [key] } };
      const text = `{{workflow_input[${JSON.stringify(key)}].found[0]}}`;
      expect(resolveTemplates(text, () => root)).toBe(key);
      expect(resolveTemplates(`<${text}>`, () => root)).toBe(`<${key}>`);
    },
  );

  test.each(['__x__', '1a', '🙂', 'schritt-é', 'a-b', '$ref', '@type', 'a:b'])('V5 the key %s needs no quotes', (key) => {
    expect(resolveTemplates(`{{workflow_input.${key}}}`, () => ({ [key]: 1 }))).toBe(1);
  });
});

test.each([
  ['\\{{workflow_input.zero}}', '{{workflow_input.zero}}'],
  ['\\\\{{workflow_input.zero}}', '\\0'],
  ['\\\\\\{{workflow_input.zero}}', '\\{{workflow_input.zero}}'],
  ['a\\b \\{{ {{workflow_input.zero}}', 'a\\b {{ 0'],
  ['{ "a": {"b": 1}}', '{ "a": {"b": 1}}'],
  ['}} {', '}} {'],
])('a backslash before {{ makes it literal: %s', (text, expected) => {
  expect(fill(text)).toBe(expected);
});

test.each([
  '{{',
  '{{}}',
  '{{ }}',
  '{{workflow_input',
  '{{workflow_input}',
  '{{workflow_input.}}',
  '{{workflow_input..a}}',
  '{{workflow_input .a}}',
  '{{workflow_input[]}}',
  '{{workflow_input[-1]}}',
  '{{workflow_input[01]}}',
  '{{workflow_input[1.5]}}',
  '{{workflow_input[1e9]}}',
  '{{workflow_input["a]}}',
  "{{workflow_input['a']}}",
  '{{workflow_input["a"}}',
  '{{inputs.a}}',
  '{{step}}',
  '{{step.}}',
  '{{step[0]}}',
  '{{step["a b"].c}}',
  '{{step.1a.b}}',
  '{{loop_index.a}}',
  '{{secret}}',
  '{{secret.}}',
  '{{secret.A.b}}',
  '{{secret.A | default: ""}}',
  '{{workflow_input.a | upper}}',
  '{{workflow_input.a | default}}',
  '{{workflow_input.a | default: }}',
  '{{workflow_input.a | default: x}}',
  '{{workflow_input.a | default: "x}}',
  '{{workflow_input.a + 1}}',
  '{{constructor.constructor("return process")()}}',
  '{{workflow_input.a.{{loop_index}}}}',
])('the template %s is refused with its place', (text) => {
  const config = { steps: [{ prompt: 'fine {{workflow_input.zero}}' }, { 'a/b': `see ${text}` }] };
  for (const call of [() => referencesIn(config), () => fill(config)]) {
    const error = kilnErrorOf(call);
    expect(error.code).toBe('template.syntax');
    expect(error.message).toContain('/steps/1/a~1b');
    expect(error.data).toMatchObject({ place: '/steps/1/a~1b' });
  }
});

test('all references of a configuration, with their places, and all problems at once', () => {
  const config: Json = {
    a: '{{step.one.x[0]}} and {{workflow_input}}',
    b: [1, null, '{{oops}}', { c: '{{secret.KEY}}' }],
    d: '{{',
    '{{k}}': true,
  };
  const { references, problems } = templatesIn(config);
  expect(references).toEqual([
    { path: '/a', reference: { root: 'step', stepId: 'one', path: ['x', 0], text: '{{step.one.x[0]}}' } },
    { path: '/a', reference: { root: 'workflow_input', path: [], text: '{{workflow_input}}' } },
    { path: '/b/3/c', reference: { root: 'secret', name: 'KEY', text: '{{secret.KEY}}' } },
  ]);
  expect(problems.map((problem) => [problem.path, problem.code])).toEqual([
    ['/b/2', 'template.syntax'],
    ['/d', 'template.syntax'],
  ]);
});

test('a path on its own', () => {
  expect(parsePath('')).toEqual([]);
  expect(parsePath('a.b[0]["c d"]')).toEqual(['a', 'b', 0, 'c d']);
  expect(parsePath('[1].x')).toEqual([1, 'x']);
  for (const text of ['.a', 'a.', 'a b', 'a[x]', 'constructor', 'a}}']) {
    expect(kilnErrorOf(() => parsePath(text)).code).toBe('template.syntax');
  }
});

test('walkPath and requirePath follow own data only', () => {
  expect(walkPath({ a: [{ b: null }] }, ['a', 0, 'b'])).toBeNull();
  expect(walkPath({ a: 1 }, ['a', 'b'])).toBeUndefined();
  expect(walkPath({}, ['__proto__'])).toBeUndefined();
  expect(walkPath([], ['length'])).toBeUndefined();
  expect(requirePath({ a: 0 }, ['a'], 'workflow_input')).toBe(0);
  expect(kilnErrorOf(() => requirePath({ amount: 0 }, ['amout'], 'loop_item')).message).toContain('the nearest is "amount"');
});

describe('secrets', () => {
  const secret = (name: string): string => `<${name}>`;
  const input = { a: 'hello {{secret.STOLEN}}', deep: [{ b: '\\{{secret.STOLEN}}' }], open: '{', slash: '\\' };
  const seal = (config: Json): Json => resolveTemplates(config, () => input);

  test('a secret stays in place until call time', () => {
    const sealed = seal({ header: 'Bearer {{ secret.API_KEY }}', n: '{{workflow_input.open}}' });
    expect(sealed).toEqual({ header: 'Bearer {{secret.API_KEY}}', n: '{' });
    expect(resolveSecrets(sealed, secret)).toEqual({ header: 'Bearer <API_KEY>', n: '{' });
  });

  test('X4 whoever writes into an input cannot have a secret put there', () => {
    const config = {
      whole: '{{workflow_input}}',
      mixed: 'x {{workflow_input.a}} {{secret.OWN}}',
      brace: '{{workflow_input.open}}{secret.STOLEN}}',
      slash: '{{workflow_input.slash}}{{secret.OWN}}',
      literal: '\\{{secret.LITERAL}}',
    };
    expect(resolveSecrets(seal(config), secret)).toEqual({
      whole: input,
      mixed: 'x hello {{secret.STOLEN}} <OWN>',
      brace: '{{secret.STOLEN}}',
      slash: '\\<OWN>',
      literal: '{{secret.LITERAL}}',
    });
  });

  test('the text of a secret is not expanded', () => {
    expect(resolveSecrets('{{secret.A}}', () => '{{secret.B}}')).toBe('{{secret.B}}');
  });

  test('where secrets are not kept, one is an error and data is not touched', () => {
    expect(kilnErrorOf(() => resolveTemplates({ prompt: 'x {{secret.A}}' }, () => input, { keepSecrets: false })).code).toBe(
      'secret.not_allowed',
    );
    expect(kilnErrorOf(() => resolveTemplates('{{secret.A}}', () => input, { keepSecrets: false })).code).toBe('secret.not_allowed');
    expect(resolveTemplates('{{workflow_input.a}}', () => input, { keepSecrets: false })).toBe('hello {{secret.STOLEN}}');
    expect(resolveTemplates('> {{workflow_input.a}}', () => input, { keepSecrets: false })).toBe('> hello {{secret.STOLEN}}');
  });

  test('property: sealing and lifting the seal gives back the data, with only the configuration’s own secrets replaced', () => {
    const part = fc.string({ unit: fc.constantFrom('{', '}', '{{', '}}', '\\', 'secret', '.', 'A', '{{secret.A}}', ' ', '"') });
    fc.assert(
      fc.property(part, part, part, (first, second, third) => {
        const values: Json = { first, second: [second, { [third]: third }] };
        const config = [
          '{{workflow_input}}',
          '{{workflow_input.first}}{{secret.X}}{{workflow_input.second[0]}}{{ secret.Y }}',
          '{{workflow_input.first}}',
        ];
        const sealed = resolveTemplates(config, () => values);
        expect(resolveSecrets(sealed, secret)).toEqual([values, `${first}<X>${second}<Y>`, first]);
      }),
      { numRuns: 1_000 },
    );
  });

  test('long runs of backslashes and braces take linear time', () => {
    const long = '\\'.repeat(2_000_000) + '{'.repeat(2_000_000);
    const sealed = resolveTemplates('{{workflow_input}} {{secret.A}}', () => `${long}{{secret.B}}`);
    expect(resolveSecrets(sealed, secret)).toBe(`${long}{{secret.B}} <A>`);
  });
});

describe('limits', () => {
  test('1,000 references in a text, not more', () => {
    expect(fill('{{workflow_input.zero}}'.repeat(1_000))).toBe('0'.repeat(1_000));
    expect(kilnErrorOf(() => fill('{{workflow_input.zero}}'.repeat(1_001))).code).toBe('template.too_large');
  });

  test('the whole result has at most 8 MiB, in one text, over many, and by whole values', () => {
    const big: Json = { text: 'x'.repeat(1024 * 1024) };
    for (const config of [
      '{{workflow_input.text}}'.repeat(9),
      Array<Json>(9).fill('{{workflow_input.text}}'),
      Array<Json>(9).fill('{{workflow_input}}'),
    ]) {
      expect(kilnErrorOf(() => resolveTemplates(config, () => big)).code).toBe('template.too_large');
    }
    const fits = resolveTemplates(Array<Json>(7).fill('{{workflow_input.text}}'), () => big);
    expect(canonicalJson(fits).length).toBeLessThan(PAYLOAD_MAX_BYTES);
  });

  test('F6 a configuration nested 100,000 deep is walked without a stack overflow', () => {
    let config: Json = '{{workflow_input.zero}}';
    for (let level = 0; level < 100_000; level += 1) {
      config = [config];
    }
    expect(referencesIn(config)).toHaveLength(1);
    let filled = fill(config);
    while (Array.isArray(filled)) {
      filled = filled[0] ?? 'none';
    }
    expect(filled).toBe(0);
  });
});

describe('properties', () => {
  const odd = fc.string({
    unit: fc.constantFrom(
      '{{',
      '}}',
      '{',
      '}',
      '\\',
      '.',
      '[',
      ']',
      '"',
      '|',
      'default:',
      ' ',
      '0',
      'a',
      'step',
      'workflow_input',
      'secret',
      'loop_index',
      '__proto__',
      'constructor',
      'é',
      '🙂',
      '\n',
    ),
    maxLength: 30,
  });

  test('any text is filled in or refused with a code; Object.prototype stays as it is', () => {
    const before = Object.getOwnPropertyNames(Object.prototype);
    fc.assert(
      fc.property(fc.oneof(odd, fc.string()), fc.jsonValue(), (text, root) => {
        expect(isOrderly(() => resolveTemplates({ [text]: text }, () => root as Json))).toBe(true);
      }),
      { numRuns: 2_000 },
    );
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
    expect(Object.getPrototypeOf(Object.prototype)).toBeNull();
  });

  test('any value at any path comes back with its type, and a text without {{ stays as it is', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.nat(3), fc.string({ unit: 'binary' })), { maxLength: 6 }),
        fc.jsonValue({ stringUnit: 'binary' }),
        fc.string(),
        (path, leaf, plain) => {
          fc.pre(!path.some((part) => typeof part === 'string' && ['__proto__', 'prototype', 'constructor'].includes(part)));
          const root = path.reduceRight<Json>(
            (inner, part) => (typeof part === 'number' ? [...Array<Json>(part).fill(0), inner] : { [part]: inner }),
            leaf as Json,
          );
          const text = `{{workflow_input${path.map((part) => `[${JSON.stringify(part)}]`).join('')}}}`;
          expect(resolveTemplates(text, () => root, { keepSecrets: false })).toEqual(leaf);
          const literal = plain.replaceAll('{{', '{');
          expect(resolveTemplates(literal, () => root)).toBe(literal);
        },
      ),
      { numRuns: 500 },
    );
  });
});
