/** A piece of a document that is found and quoted as a whole. */
export interface Chunk {
  readonly n: number;
  /** The headings above it, outermost first, joined with " › "; empty before the first heading. */
  readonly heading: string;
  readonly text: string;
}

export const CHUNK_CHARS = 1_200;
/** What a chunk repeats from the end of the one before, so that a sentence on the border is found from both sides. */
export const OVERLAP_CHARS = 150;

interface Section {
  readonly heading: string;
  readonly blocks: readonly string[];
}

/** Cuts Markdown into chunks of at most 1,200 characters: never across a heading, between paragraphs where possible, else between sentences or words. */
export function chunkMarkdown(markdown: string): Chunk[] {
  const chunks: Chunk[] = [];
  for (const { heading, blocks } of sectionsOf(markdown)) {
    for (const text of pack(blocks)) chunks.push({ n: chunks.length, heading, text });
  }
  return chunks;
}

/** The text by which a chunk is embedded and searched: its headings tell what it is about. */
export function searchableText(title: string, chunk: Chunk): string {
  return [title, chunk.heading, chunk.text].filter((part) => part !== '').join('\n');
}

function sectionsOf(markdown: string): Section[] {
  const sections: { heading: string; blocks: string[] }[] = [];
  const path: { level: number; title: string }[] = [];
  let current: { heading: string; blocks: string[] } = { heading: '', blocks: [] };
  sections.push(current);
  let block: string[] = [];
  let fence: string | undefined;
  const endBlock = (): void => {
    const text = block.join('\n').trimEnd();
    if (text.trim() !== '') current.blocks.push(text);
    block = [];
  };
  for (const line of markdown.replaceAll('\r\n', '\n').split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence !== undefined) {
      block.push(line);
      // A fence ends with its own kind of mark, at least as long.
      if (mark !== undefined && mark.startsWith(fence)) fence = undefined;
    } else if (mark !== undefined) {
      fence = mark;
      block.push(line);
    } else {
      const heading = headingOf(line);
      if (heading !== undefined) {
        endBlock();
        while ((path.at(-1)?.level ?? 0) >= heading.level) path.pop();
        path.push(heading);
        current = {
          heading: path
            .map(({ title }) => title)
            .filter((title) => title !== '')
            .join(' › '),
          blocks: [],
        };
        sections.push(current);
      } else if (line.trim() === '') endBlock();
      else block.push(line);
    }
  }
  endBlock();
  return sections;
}

function headingOf(line: string): { level: number; title: string } | undefined {
  const marks = /^ {0,3}(#{1,6})(?=[ \t]|$)/.exec(line);
  if (marks?.[1] === undefined) return undefined;
  const title = line
    .slice(marks[0].length)
    .trim()
    .replace(/(^|[ \t])#+$/, '')
    .trim();
  return { level: marks[1].length, title };
}

/** Joins blocks while they fit; cuts those that are too long. */
function pack(blocks: readonly string[]): string[] {
  const texts: string[] = [];
  let text = '';
  for (const piece of blocks.flatMap(cut)) {
    if (text === '') text = piece;
    else if (text.length + 2 + piece.length <= CHUNK_CHARS) text += `\n\n${piece}`;
    else {
      texts.push(text);
      const tail = tailOf(text);
      text = tail !== '' && tail.length + 2 + piece.length <= CHUNK_CHARS ? `${tail}\n\n${piece}` : piece;
    }
  }
  if (text !== '') texts.push(text);
  return texts;
}

function cut(block: string): string[] {
  const pieces: string[] = [];
  let rest = block;
  while (rest.length > CHUNK_CHARS) {
    const at = cutPoint(rest);
    pieces.push(rest.slice(0, at).trimEnd());
    // The next piece begins a little earlier, at a word.
    const tail = tailOf(rest.slice(0, at));
    rest = `${tail}${tail === '' ? '' : ' '}${rest.slice(at).trimStart()}`;
  }
  if (rest.trim() !== '') pieces.push(rest);
  return pieces;
}

/** After the last line, sentence or word that fits; in the second half, so that every piece makes progress over its overlap. */
function cutPoint(text: string): number {
  const half = CHUNK_CHARS / 2;
  const window = text.slice(0, CHUNK_CHARS);
  const line = window.lastIndexOf('\n');
  if (line > half) return line;
  const sentence = Math.max(...['. ', '! ', '? ', '。', '！', '？'].map((end) => window.lastIndexOf(end)));
  if (sentence > half) return sentence + 1;
  const word = window.lastIndexOf(' ');
  if (word > half) return word;
  return isHighSurrogate(window.charCodeAt(CHUNK_CHARS - 1)) ? CHUNK_CHARS - 1 : CHUNK_CHARS;
}

/** The last words, at most OVERLAP_CHARS; empty when there is no border between words in there. */
function tailOf(text: string): string {
  const trimmed = text.trimEnd();
  if (trimmed.length <= OVERLAP_CHARS) return '';
  const tail = trimmed.slice(-OVERLAP_CHARS);
  const space = tail.search(/\s/);
  return space === -1 ? '' : tail.slice(space + 1).trimStart();
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
