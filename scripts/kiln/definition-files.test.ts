import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { canonicalJson } from '../../functions/src/engine/json.ts';
import { diffLines } from './text-diff.ts';
import { changesOf, readDefinitions, writeDefinitions } from './definition-files.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kiln-files-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const workflow = (id: string, value: unknown): { id: string; text: string } => ({
  id,
  text: canonicalJson({ id, steps: [{ id: 'x', type: 'transform', value }] }),
});

test('what is pulled is what is pushed: no difference', () => {
  const published = [workflow('a', { nested: [1, [2]], 'a.b': 'ü' }), workflow('b', null)];
  expect(writeDefinitions(folder, published)).toEqual(['a', 'b']);
  expect(changesOf(published, readDefinitions(folder)).map(({ kind }) => kind)).toEqual(['same', 'same']);
  expect(readFileSync(join(folder, 'a.json'), 'utf8')).toMatch(/^\{\n {2}"id": "a"/);
});

test('a file that means the same is not written again, whatever its order and layout', () => {
  const own = '{"steps":[{"value":1,"type":"transform","id":"x"}],\n\n"id":"a"}';
  writeFileSync(join(folder, 'a.json'), own);
  expect(writeDefinitions(folder, [workflow('a', 1)])).toEqual([]);
  expect(readFileSync(join(folder, 'a.json'), 'utf8')).toBe(own);
});

test('new, changed and only published are told apart, with the lines that differ', () => {
  const changes = changesOf([workflow('a', 1), workflow('gone', 1)], [workflow('a', 2), workflow('fresh', 3)]);
  expect(changes.map(({ id, kind }) => `${id} ${kind}`)).toEqual(['a changed', 'fresh new', 'gone only published']);
  const [changed] = changes;
  expect(
    changed?.kind === 'changed' ? changed.lines.filter((line) => /^[-+]/.test(line)).map((line) => line.replaceAll(/\s+/g, ' ')) : [],
  ).toEqual(['- "value": 1', '+ "value": 2']);
});

test('a file that cannot be read is named, and two files of one workflow', () => {
  writeFileSync(join(folder, 'broken.json'), '{"id": ');
  expect(() => readDefinitions(folder)).toThrow('broken.json');
  rmSync(join(folder, 'broken.json'));
  writeFileSync(join(folder, 'one.json'), '{"id":"a","steps":[]}');
  writeFileSync(join(folder, 'two.json'), '{"id":"a","steps":[]}');
  expect(() => readDefinitions(folder)).toThrow('two.json and one.json are both "a"');
});

describe('the difference of two texts', () => {
  test('is empty for equal texts', () => {
    expect(diffLines('a\nb', 'a\nb')).toEqual([]);
  });

  test('shows three lines around a change and leaves out the rest', () => {
    const lines = Array.from({ length: 20 }, (_, at) => `line ${at}`);
    expect(diffLines(lines.join('\n'), lines.with(10, 'other').join('\n'))).toEqual([
      '…',
      '  line 7',
      '  line 8',
      '  line 9',
      '- line 10',
      '+ other',
      '  line 11',
      '  line 12',
      '  line 13',
    ]);
  });

  test('keeps a line that is common to both between two changes', () => {
    expect(diffLines('a\nkeep\nb', 'c\nkeep\nd')).toEqual(['- a', '+ c', '  keep', '- b', '+ d']);
  });

  test('stays quick on texts that share nothing', () => {
    const many = (word: string): string => Array.from({ length: 4_000 }, (_, at) => `${word} ${at}`).join('\n');
    expect(diffLines(many('a'), many('b'))).toHaveLength(8_000);
  });
});
