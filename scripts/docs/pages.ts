import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A fenced block: the words after the fence, and the text. */
export interface Block {
  readonly page: string;
  readonly line: number;
  readonly words: readonly string[];
  readonly text: string;
}

export interface Page {
  /** Relative to the root. */
  readonly path: string;
  readonly text: string;
}

/** Every page that people read: those of docs/, of the root, and of the rooms. */
export function readPages(root: string): Page[] {
  const inFolder = (folder: string): string[] =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(folder, name));
  const top = readdirSync(root).filter((name) => name.endsWith('.md'));
  return [...top, ...inFolder('docs'), ...inFolder('functions/src')].map((path) => ({
    path,
    text: readFileSync(join(root, path), 'utf8'),
  }));
}

export function blocksOf({ path, text }: Page): Block[] {
  const blocks: Block[] = [];
  let open: { line: number; words: string[]; lines: string[] } | undefined;
  for (const [index, line] of text.split('\n').entries()) {
    if (!line.startsWith('```')) {
      open?.lines.push(line);
    } else if (open === undefined) {
      open = { line: index + 1, words: line.slice(3).trim().split(/\s+/), lines: [] };
    } else {
      blocks.push({ page: path, line: open.line, words: open.words, text: open.lines.join('\n') });
      open = undefined;
    }
  }
  if (open !== undefined) throw new Error(`${path}:${open.line}: the block is not closed`);
  return blocks;
}

/** The text without fenced blocks: links and codes in these are none. */
export function proseOf({ text }: Page): string {
  return text.replaceAll(/^```[\s\S]*?^```$/gm, '');
}

/** The names that GitHub gives to headings. */
export function anchorsOf(page: Page): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of proseOf(page).matchAll(/^#{1,6} (.+)$/gm)) {
    const words = heading
      .replaceAll(/[`*_]|\[|\]\([^)]*\)/g, '')
      .trim()
      .toLowerCase();
    anchors.add(words.replaceAll(/[^\p{L}\p{N}\s-]/gu, '').replaceAll(/\s/g, '-'));
  }
  return anchors;
}
