import { expect, test } from 'vitest';
import { inlinesOf, parseMarkdown } from './markdown-parse.ts';

test('headings, paragraphs, lists, quotes, code, rules and tables', () => {
  const blocks = parseMarkdown(
    [
      '# Invoice',
      '',
      'Two',
      'lines',
      '',
      '- one',
      '  - inner',
      '- two',
      '',
      '3. third',
      '',
      '> said',
      '',
      '```',
      '<b>code</b>',
      '```',
      '---',
      '| a | b |',
      '|---|--:|',
      '| 1 | 2 |',
    ].join('\n'),
  );
  expect(blocks.map((block) => block.kind)).toEqual(['heading', 'paragraph', 'list', 'list', 'quote', 'code', 'rule', 'table']);
  expect(blocks[2]).toMatchObject({ ordered: false, items: [[{ kind: 'paragraph' }, { kind: 'list' }], [{ kind: 'paragraph' }]] });
  expect(blocks[3]).toMatchObject({ ordered: true, start: 3 });
  expect(blocks[5]).toEqual({ kind: 'code', text: '<b>code</b>' });
  expect(blocks[7]).toMatchObject({ head: [[{ text: 'a' }], [{ text: 'b' }]], rows: [[[{ text: '1' }], [{ text: '2' }]]] });
});

test('X5 HTML stays text and images become their description', () => {
  expect(parseMarkdown('<img src=x onerror=alert(1)>')).toEqual([
    { kind: 'paragraph', children: [{ kind: 'text', text: '<img src=x onerror=alert(1)>' }] },
  ]);
  expect(inlinesOf('![spy](https://evil.example/p.png)')).toEqual([{ kind: 'image', alt: 'spy' }]);
});

test('strong, emphasis, code and links; what is not closed is text', () => {
  expect(inlinesOf('**a** *b* `c` [d](https://e.example)').map((inline) => inline.kind)).toEqual([
    'strong',
    'text',
    'emphasis',
    'text',
    'code',
    'text',
    'link',
  ]);
  expect(inlinesOf('2 * 3 and **open and snake_case_name and [x](')).toEqual([
    { kind: 'text', text: '2 * 3 and **open and snake_case_name and [x](' },
  ]);
  expect(inlinesOf('\\*not\\*')).toEqual([{ kind: 'text', text: '*not*' }]);
});

test('hostile texts are parsed in time', () => {
  const started = performance.now();
  for (const text of [
    '['.repeat(50_000),
    '*a '.repeat(50_000),
    '> '.repeat(50_000),
    '- '.repeat(50_000),
    '`'.repeat(99_999),
    '| '.repeat(50_000),
    '**'.repeat(50_000),
  ])
    parseMarkdown(text);
  expect(performance.now() - started).toBeLessThan(10_000);
});
