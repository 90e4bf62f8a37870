import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { knowledgeFile, parseKnowledgeFile, readKnowledge, writeKnowledge } from './knowledge-files.ts';
import type { KnowledgeText } from './knowledge-files.ts';

const document: KnowledgeText = {
  id: 'returns',
  title: 'Returns: "how"',
  collection: 'support',
  department: 'finance',
  tags: ['a', 'ü'],
  markdown: '# Returns\n\n---\n\nWithin 30 days.\n',
};

test('a document that is written is read the same, also with a line of dashes in its text', () => {
  expect(parseKnowledgeFile('returns', knowledgeFile(document))).toEqual(document);
});

test('only what differs is written', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kiln-kb-'));
  expect(writeKnowledge(folder, [document])).toEqual(['returns']);
  expect(writeKnowledge(folder, [document])).toEqual([]);
  expect(writeKnowledge(folder, [{ ...document, markdown: 'new' }])).toEqual(['returns']);
  expect(readKnowledge(folder)).toEqual([{ ...document, markdown: 'new' }]);
  expect(readKnowledge(join(folder, 'none'))).toEqual([]);
  rmSync(folder, { recursive: true });
});

test.each([
  ['no head', 'just text', 'returns.md: it begins with a head'],
  ['a value that is no JSON', '---\ntitle: Returns\n---\n', 'title: Returns'],
  ['no collection', '---\ntitle: "Returns"\n---\n', 'a title and a collection'],
])('%s is said with the name of the file', (_what, text, says) => {
  expect(() => parseKnowledgeFile('returns', text)).toThrow(says);
});
