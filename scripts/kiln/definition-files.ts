import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalJson, parseJson } from '../../functions/src/engine/json.ts';
import { asObject, asString } from '../json-objects.ts';
import { diffLines } from './text-diff.ts';

/** A definition as the account has it, or as a file has it. `text` is canonical JSON. */
export interface DefinitionText {
  readonly id: string;
  readonly text: string;
}

export type Change =
  | { readonly kind: 'same'; readonly id: string }
  | { readonly kind: 'new'; readonly id: string; readonly lines: readonly string[] }
  | { readonly kind: 'changed'; readonly id: string; readonly lines: readonly string[] }
  /** Published, and not among the files. Nothing is ever deleted: runs may be pinned to it. */
  | { readonly kind: 'only published'; readonly id: string };

/** What publishing the files would change, by workflow id. */
export function changesOf(published: readonly DefinitionText[], files: readonly DefinitionText[]): Change[] {
  const there = new Map(published.map(({ id, text }) => [id, text]));
  const ours = new Map(files.map(({ id, text }) => [id, text]));
  return [...new Set([...there.keys(), ...ours.keys()])].sort().map((id): Change => {
    const [before, after] = [there.get(id), ours.get(id)];
    if (after === undefined) return { kind: 'only published', id };
    if (before === after) return { kind: 'same', id };
    const lines = diffLines(before === undefined ? '' : readableJson(before), readableJson(after));
    return { kind: before === undefined ? 'new' : 'changed', id, lines };
  });
}

/** Every `*.json` of a folder. Errors name the file. */
export function readDefinitions(folder: string): DefinitionText[] {
  if (!existsSync(folder)) throw new Error(`There is no folder "${folder}". Make it with: npm run kiln -- pull`);
  const seen = new Map<string, string>();
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => {
      let text: string;
      try {
        text = canonicalJson(parseJson(readFileSync(join(folder, name), 'utf8')));
      } catch (error) {
        throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
      }
      const id = asString(asObject(JSON.parse(text))?.['id']);
      if (id === undefined) throw new Error(`${name}: it has no "id".`);
      const other = seen.get(id);
      if (other !== undefined) throw new Error(`${name} and ${other} are both "${id}".`);
      seen.set(id, name);
      return { id, text };
    });
}

/** Writes a file for each workflow that differs from its file; returns the ids that were written. A file's own order of keys stays. */
export function writeDefinitions(folder: string, published: readonly DefinitionText[]): string[] {
  mkdirSync(folder, { recursive: true });
  const files = new Map(readDefinitions(folder).map(({ id, text }) => [id, text]));
  return published.flatMap(({ id, text }) => {
    if (files.get(id) === text) return [];
    writeFileSync(join(folder, `${id}.json`), `${readableJson(text)}\n`);
    return [id];
  });
}

/** Keys that a reader looks for come first. */
const FIRST = ['id', 'type', 'name', 'description'];

/** Canonical JSON, indented, with the telling keys first. The same value gives the same text. */
function readableJson(text: string): string {
  return JSON.stringify(
    JSON.parse(text),
    (_key, value: unknown) => {
      const object = asObject(value);
      if (object === undefined) return value;
      const rank = (key: string): number => (FIRST.includes(key) ? FIRST.indexOf(key) : FIRST.length);
      return Object.fromEntries(Object.entries(object).sort(([a], [b]) => rank(a) - rank(b)));
    },
    2,
  );
}
