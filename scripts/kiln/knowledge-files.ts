import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asArray, asObject, asString, parseJson } from '../json-objects.ts';

/** A document of the knowledge base: what a person writes of it. */
export interface KnowledgeText {
  readonly id: string;
  readonly title: string;
  readonly collection: string;
  readonly department?: string;
  readonly tags: readonly string[];
  readonly markdown: string;
}

/** What the callable says of a document. */
export function knowledgeOf(value: unknown): KnowledgeText {
  const found = asObject(value) ?? {};
  const [id, title, collection] = [asString(found['id']), asString(found['title']), asString(found['collection'])];
  if (id === undefined || title === undefined || collection === undefined)
    throw new Error('a document needs an id, a title and a collection');
  const department = asString(found['department']);
  return {
    id,
    title,
    collection,
    ...(department === undefined ? {} : { department }),
    tags: asArray(found['tags']).map(String),
    markdown: asString(found['markdown']) ?? '',
  };
}

/** Markdown with a head between two lines of dashes: a field a line, its value as JSON, which YAML readers take as well. */
export function knowledgeFile({ id: _id, markdown, ...head }: KnowledgeText): string {
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  return `---\n${lines.join('\n')}\n---\n${markdown}`;
}

export function parseKnowledgeFile(id: string, text: string): KnowledgeText {
  const found = /^---\r?\n([\s\S]*?)\r?\n---\r?\n([\s\S]*)$/.exec(text);
  if (found === null) throw new Error(`${id}.md: it begins with a head between two lines "---".`);
  const [, head = '', markdown = ''] = found;
  const fields = head.split(/\r?\n/).map((line) => {
    const colon = line.indexOf(':');
    const value = colon === -1 ? undefined : parseJson(line.slice(colon + 1));
    if (value === undefined)
      throw new Error(`${id}.md: "${line}" is no field; write a name, a colon, and a value as JSON: title: "Returns"`);
    return [line.slice(0, colon).trim(), value] as const;
  });
  try {
    return knowledgeOf({ ...Object.fromEntries(fields), id, markdown });
  } catch (error) {
    throw new Error(`${id}.md: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

export function readKnowledge(folder: string): KnowledgeText[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => parseKnowledgeFile(name.slice(0, -3), readFileSync(join(folder, name), 'utf8')));
}

/** Writes the documents that differ from their files; returns their ids. */
export function writeKnowledge(folder: string, documents: readonly KnowledgeText[]): string[] {
  mkdirSync(folder, { recursive: true });
  return documents.flatMap((document) => {
    const [path, text] = [join(folder, `${document.id}.md`), knowledgeFile(document)];
    if (existsSync(path) && readFileSync(path, 'utf8') === text) return [];
    writeFileSync(path, text);
    return [document.id];
  });
}
