import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CHUNK_CHARS, chunkMarkdown, searchableText } from './chunker.ts';

test('sections become chunks under the path of their headings', () => {
  const chunks = chunkMarkdown('Intro.\n\n# Refunds\nText one.\n\nText two.\n\n## Limits ##\n- a\n- b\n\n# Returns\r\nLast.');
  expect(chunks).toEqual([
    { n: 0, heading: '', text: 'Intro.' },
    { n: 1, heading: 'Refunds', text: 'Text one.\n\nText two.' },
    { n: 2, heading: 'Refunds › Limits', text: '- a\n- b' },
    { n: 3, heading: 'Returns', text: 'Last.' },
  ]);
  expect(searchableText('Handbook', chunks[2] ?? { n: 0, heading: '', text: '' })).toBe('Handbook\nRefunds › Limits\n- a\n- b');
});

test('what looks like a heading inside a code block is code', () => {
  const chunks = chunkMarkdown('# Setup\n```sh\n# not a heading\n\nrun\n```\n\n~~~\n``` # still code\n# code\n~~~\n#hashtag');
  expect(chunks).toHaveLength(1);
  expect(chunks[0]?.text).toContain('# not a heading\n\nrun');
});

test('a code block that never ends is kept', () => {
  expect(chunkMarkdown('# A\n```\ncode\n# B').map(({ text }) => text)).toEqual(['```\ncode\n# B']);
});

test('long texts are cut between sentences, and a chunk repeats the end of the one before', () => {
  const sentences = Array.from({ length: 80 }, (_, index) => `Sentence number ${index} says something about refunds.`);
  const chunks = chunkMarkdown(sentences.join(' '));
  expect(chunks.length).toBeGreaterThan(3);
  for (const { text } of chunks) {
    expect(text.length).toBeLessThanOrEqual(CHUNK_CHARS);
    expect(text.endsWith('.')).toBe(true);
  }
  const [first, second] = chunks;
  const opening = (second?.text ?? '').slice(0, 60);
  expect(first?.text).toContain(opening);
});

test('a wall of characters without spaces is cut without losing or breaking any', () => {
  const wall = '🙂'.repeat(3_000);
  const chunks = chunkMarkdown(wall);
  expect(chunks.map(({ text }) => text).join('')).toBe(wall);
  for (const { text } of chunks) expect(text.isWellFormed()).toBe(true);
});

test.each([[''], ['\n\n  \n'], ['# Only a heading'], ['#\n## ']])('%j holds no text', (markdown) => {
  expect(chunkMarkdown(markdown)).toEqual([]);
});

test('whatever the text, chunks stay within the limit and no word is lost', () => {
  const word = fc.stringMatching(/^[a-zA-Z0-9é.,!?*_|>-]{1,60}$/);
  const line = fc.oneof(
    fc.array(word, { minLength: 1, maxLength: 40 }).map((words) => words.join(' ')),
    fc.constantFrom('# Title', '### Part', '```', '', `- ${'item '.repeat(400)}`, 'x'.repeat(2_500)),
  );
  fc.assert(
    fc.property(fc.array(line, { maxLength: 30 }), (lines) => {
      const chunks = chunkMarkdown(lines.join('\n'));
      const kept = new Set(chunks.flatMap(({ text }) => text.split(/\s+/)));
      for (const { text } of chunks) expect(text.length).toBeLessThanOrEqual(CHUNK_CHARS);
      const words = lines
        .filter((text) => !text.startsWith('#'))
        .join(' ')
        .split(' ')
        .filter((text) => text !== '' && text.length < 100);
      expect(words.filter((text) => !kept.has(text))).toEqual([]);
      expect(chunks.map(({ n }) => n)).toEqual(chunks.map((_, index) => index));
    }),
    { numRuns: 200 },
  );
});

test('a large document is cut in a moment', () => {
  const started = performance.now();
  const chunks = chunkMarkdown('word '.repeat(80_000));
  expect(chunks.length).toBeGreaterThan(300);
  expect(performance.now() - started).toBeLessThan(10_000);
});
