import { describe, expect, test } from 'vitest';
import { kilnErrorOf } from '../testing/kiln-error.ts';
import { backslashesBefore, parsePath, parseTemplate, PLACEHOLDERS_MAX } from './template-syntax.ts';
import type { PathSegment } from './template-syntax.ts';

/** The pieces of a text in short: texts as they are, references as what they name. */
function pieces(text: string): unknown[] {
  return parseTemplate(text, '').map((piece) => {
    if (piece.kind === 'text') return piece.text;
    const { text: _text, ...reference } = piece.reference;
    return reference;
  });
}
const index = { root: 'loop_index' };

describe('a text', () => {
  test.each<[string, unknown[]]>([
    ['', ['']],
    ['plain }} text {', ['plain }} text {']],
    ['{{loop_index}}', [index]],
    ['a{{loop_index}}b', ['a', index, 'b']],
    ['{{loop_index}}{{loop_index}}', [index, index]],
    ['{{loop_index}}}', [index, '}']],
    ['{{ loop_index }}', [index]],
    ['{{\n\tloop_index\n}}', [index]],
    ['\\{{loop_index}}', ['{{loop_index}}']],
    ['a\\{{b\\{{c', ['a{{b{{c']],
    ['\\\\{{loop_index}}', ['\\', index]],
    ['\\\\\\{{loop_index}}', ['\\{{loop_index}}']],
    ['{{loop_index}}\\\\{{loop_index}}', [index, '\\', index]],
    ['a\\b', ['a\\b']],
    ['{{workflow_input}}', [{ root: 'workflow_input', path: [] }]],
    ['{{workflow_input.a.b}}', [{ root: 'workflow_input', path: ['a', 'b'] }]],
    ['{{workflow_input[0][12].a}}', [{ root: 'workflow_input', path: [0, 12, 'a'] }]],
    ['{{workflow_input["a b"]["]"]["\\""]}}', [{ root: 'workflow_input', path: ['a b', ']', '"'] }]],
    ['{{loop_item.x}}', [{ root: 'loop_item', path: ['x'] }]],
    ['{{run.id}}', [{ root: 'run', path: ['id'] }]],
    ['{{input.x}}', [{ root: 'input', path: ['x'] }]],
    ['{{step.a-b_1}}', [{ root: 'step', stepId: 'a-b_1', path: [] }]],
    ['{{step["fetch"].x}}', [{ root: 'step', stepId: 'fetch', path: ['x'] }]],
    ['{{secret.API_KEY}}', [{ root: 'secret', name: 'API_KEY' }]],
    ['{{secret._k1}}', [{ root: 'secret', name: '_k1' }]],
    ['{{run.x | default: 0}}', [{ root: 'run', path: ['x'], fallback: 0 }]],
    ['{{run.x|default:"}}"}}', [{ root: 'run', path: ['x'], fallback: '}}' }]],
    ['{{run.x|  default  : "a\\"}}b" }}', [{ root: 'run', path: ['x'], fallback: 'a"}}b' }]],
    ['{{run.x | default: {"a": {"b": 1}}}}', [{ root: 'run', path: ['x'], fallback: { a: { b: 1 } } }]],
    ['{{run.x | default: [[1], {"a": []}]}} b', [{ root: 'run', path: ['x'], fallback: [[1], { a: [] }] }, ' b']],
    ['{{run.x | default: null}}', [{ root: 'run', path: ['x'], fallback: null }]],
    ['{{loop_index | default: false}}', [{ root: 'loop_index', fallback: false }]],
  ])('%j', (text, expected) => {
    expect(pieces(text)).toEqual(expected);
  });

  test('a reference keeps how it is written', () => {
    const written = parseTemplate('a {{ run.id | default: "x" }} b', '').map((piece) =>
      piece.kind === 'text' ? piece.text : piece.reference.text,
    );
    expect(written).toEqual(['a ', '{{ run.id | default: "x" }}', ' b']);
  });
});

describe('what cannot be read is refused, with what to write and where', () => {
  const missing = '}} is missing, or what stands before it is not a path; write a.b[0]["any key"]. A literal {{ is written \\{{';
  const bracket = 'between [ and ] stands a position such as 0, or a key in double quotes such as "any key"';
  const point = 'a key must follow the point; a key with other characters is written ["any key"]';
  const root = 'a reference starts with workflow_input, step, loop_item, loop_index, run or secret. A literal {{ is written \\{{';
  const json = 'must be JSON, such as "text", 0, false, null, [] or {}; this is';

  test.each<[string, number, string]>([
    ['{{', 2, root],
    ['{{ nope.a}}', 3, root],
    ['ab{{Step.a}}', 4, root],
    ['{{run.id', 8, missing],
    ['{{run.id}', 8, missing],
    ['{{run.id x}}', 9, missing],
    ['{{loop_index.a}}', 12, missing],
    ['{{run.}}', 6, point],
    ['{{run. a}}', 6, point],
    ['{{run[]}}', 6, bracket],
    ['{{run[-1]}}', 6, bracket],
    ['{{run[01]}}', 7, bracket],
    ['{{run[0}}', 7, bracket],
    ["{{run['a']}}", 6, bracket],
    ['{{run["a"}}', 9, bracket],
    ['{{run["a]}}', 6, `the key in [" "] ${json} "a]}}`],
    ['{{run["\\x"]}}', 6, `the key in [" "] ${json} "\\x"`],
    ['{{run.constructor}}', 17, 'the key "constructor" cannot be referenced'],
    ['{{run["__proto__"]}}', 18, 'the key "__proto__" cannot be referenced'],
    ['{{run.prototype}}', 15, 'the key "prototype" cannot be referenced'],
    ['{{step}}', 6, 'a step id must follow: {{step.id.path}}'],
    ['{{step[0]}}', 9, 'a step id must follow: {{step.id.path}}'],
    ['{{step["a b"]}}', 13, 'a step id must follow: {{step.id.path}}'],
    ['{{secret}}', 8, 'a name must follow: {{secret.NAME}}'],
    ['{{secret.}}', 9, 'a name must follow: {{secret.NAME}}'],
    ['{{secret.1a}}', 9, 'a name must follow: {{secret.NAME}}'],
    ['{{secret.A.b}}', 10, missing],
    ['{{secret.A | default: 1}}', 25, 'a secret has no default'],
    ['{{run.x | upper}}', 10, 'after | only "default: <JSON>" may follow'],
    ['{{run.x | default 1}}', 10, 'after | only "default: <JSON>" may follow'],
    ['{{run.x | default: 1}', 18, '}} is missing after the default'],
    ['{{run.x | default: "}}', 18, '}} is missing after the default'],
    ['{{run.x | default: {}}', 18, '}} is missing after the default'],
    ['{{run.x | default: yes }}', 18, `the default ${json} yes`],
    ['{{run.x | default: }}', 18, `the default ${json} `],
    [`{{run.x | default: ${'y'.repeat(70)}}}`, 18, `the default ${json} ${'y'.repeat(60)}`],
  ])('%s', (text, position, reason) => {
    const error = kilnErrorOf(() => parseTemplate(text, ''));
    expect([error.code, error.message]).toEqual(['template.syntax', `In the template, at character ${position}: ${reason}.`]);
    expect(error.data).toEqual({ place: '', position });
    expect(kilnErrorOf(() => parseTemplate(text, '/a/b')).message).toContain('In /a/b, at character ');
  });

  test('more references than a text may have', () => {
    expect(parseTemplate('{{run}}'.repeat(PLACEHOLDERS_MAX), '')).toHaveLength(PLACEHOLDERS_MAX);
    const error = kilnErrorOf(() => parseTemplate('{{run}}'.repeat(PLACEHOLDERS_MAX + 1), '/a'));
    expect([error.code, error.message, error.data]).toEqual([
      'template.too_large',
      `In /a has more than ${PLACEHOLDERS_MAX} references.`,
      { place: '/a' },
    ]);
  });
});

describe('a path on its own', () => {
  test.each<[string, PathSegment[]]>([
    ['', []],
    ['a', ['a']],
    ['a.b[0]["c d"]', ['a', 'b', 0, 'c d']],
    ['[1].x', [1, 'x']],
    ['["a"]', ['a']],
    ['999999999999999', ['999999999999999']],
    ['[999999999999999]', [999_999_999_999_999]],
  ])('%j', (text, expected) => {
    expect(parsePath(text)).toEqual(expected);
  });

  test('what is none is refused', () => {
    const error = kilnErrorOf(() => parsePath('a b', '/x'));
    expect([error.code, error.message]).toEqual([
      'template.syntax',
      'In /x, at character 2: "a b" is not a path; write a.b[0]["any key"].',
    ]);
    for (const text of ['.a', 'a.', 'a]', '[1', 'a|b', 'a}}', 'a"', '[1e3]', '[9999999999999999]']) {
      expect(kilnErrorOf(() => parsePath(text)).code).toBe('template.syntax');
    }
  });
});

test('backslashes are counted from the last place only', () => {
  expect([
    backslashesBefore('a\\\\b', 3, 0),
    backslashesBefore('\\\\', 2, 0),
    backslashesBefore('\\\\', 2, 1),
    backslashesBefore('ab', 1, 0),
  ]).toEqual([2, 2, 1, 0]);
});
