/**
 * The part of Markdown that evidence needs, as a tree. No HTML, no images, no references. One pass over lines and one over characters
 * without regular expressions that could backtrack, so that a hostile text costs no more than a friendly one.
 */

export type Inline =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'strong' | 'emphasis'; readonly children: readonly Inline[] }
  | { readonly kind: 'link'; readonly url: string; readonly children: readonly Inline[] }
  | { readonly kind: 'image'; readonly alt: string }
  | { readonly kind: 'break' };

export type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly children: readonly Inline[] }
  | { readonly kind: 'paragraph'; readonly children: readonly Inline[] }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'quote'; readonly children: readonly Block[] }
  | { readonly kind: 'list'; readonly ordered: boolean; readonly start: number; readonly items: readonly (readonly Block[])[] }
  | { readonly kind: 'table'; readonly head: readonly (readonly Inline[])[]; readonly rows: readonly (readonly (readonly Inline[])[])[] }
  | { readonly kind: 'rule' };

const MAX_CHARS = 200_000;
const MAX_DEPTH = 8;

export function parseMarkdown(text: string): readonly Block[] {
  return blocksOf(text.slice(0, MAX_CHARS).replaceAll('\r\n', '\n').split('\n'), 0);
}

interface Cursor {
  readonly lines: readonly string[];
  at: number;
}

function blocksOf(lines: readonly string[], depth: number): readonly Block[] {
  const blocks: Block[] = [];
  const cursor: Cursor = { lines, at: 0 };
  while (cursor.at < lines.length) {
    const line = lines[cursor.at] ?? '';
    if (line.trim() === '') cursor.at += 1;
    else blocks.push(blockAt(cursor, line, depth));
  }
  return blocks;
}

function blockAt(cursor: Cursor, line: string, depth: number): Block {
  const heading = headingOf(line);
  if (heading !== undefined) {
    cursor.at += 1;
    return heading;
  }
  if (isFence(line)) return fencedCode(cursor, line);
  if (isRule(line)) {
    cursor.at += 1;
    return { kind: 'rule' };
  }
  if (depth < MAX_DEPTH && line.startsWith('>')) return { kind: 'quote', children: blocksOf(takeQuote(cursor), depth + 1) };
  if (depth < MAX_DEPTH && markerOf(line) !== undefined) return list(cursor, depth);
  if (isTableStart(cursor)) return table(cursor);
  return paragraph(cursor);
}

function headingOf(line: string): Block | undefined {
  let level = 0;
  while (line[level] === '#') level += 1;
  if (level === 0 || level > 6 || line[level] !== ' ') return undefined;
  return { kind: 'heading', level, children: inlinesOf(line.slice(level + 1).trim()) };
}

function isFence(line: string): boolean {
  return line.trimStart().startsWith('```');
}

function isRule(line: string): boolean {
  const text = line.replaceAll(' ', '');
  return text.length >= 3 && (allAre(text, '-') || allAre(text, '*') || allAre(text, '_'));
}

function allAre(text: string, character: string): boolean {
  return text.split('').every((each) => each === character);
}

function fencedCode(cursor: Cursor, first: string): Block {
  const indent = first.length - first.trimStart().length;
  const taken: string[] = [];
  cursor.at += 1;
  while (cursor.at < cursor.lines.length && !isFence(cursor.lines[cursor.at] ?? '')) {
    const line = cursor.lines[cursor.at] ?? '';
    taken.push(line.slice(0, indent).trim() === '' ? line.slice(indent) : line);
    cursor.at += 1;
  }
  cursor.at += 1;
  return { kind: 'code', text: taken.join('\n') };
}

function takeQuote(cursor: Cursor): string[] {
  const taken: string[] = [];
  for (let line = cursor.lines[cursor.at]; line?.startsWith('>') === true; line = cursor.lines[cursor.at]) {
    taken.push(line.slice(line.startsWith('> ') ? 2 : 1));
    cursor.at += 1;
  }
  return taken;
}

interface Marker {
  readonly ordered: boolean;
  readonly start: number;
  readonly indent: number;
  /** Where the item's text begins. */
  readonly width: number;
}

function markerOf(line: string): Marker | undefined {
  const indent = line.length - line.trimStart().length;
  const rest = line.slice(indent);
  if (rest.startsWith('- ') || rest.startsWith('* ') || rest.startsWith('+ '))
    return { ordered: false, start: 1, indent, width: indent + 2 };
  let digits = 0;
  while (digits < 9 && isDigit(rest[digits])) digits += 1;
  const after = rest[digits];
  if (digits === 0 || (after !== '.' && after !== ')') || rest[digits + 1] !== ' ') return undefined;
  return { ordered: true, start: Number(rest.slice(0, digits)), indent, width: indent + digits + 2 };
}

function isDigit(character: string | undefined): boolean {
  return character !== undefined && character >= '0' && character <= '9';
}

function list(cursor: Cursor, depth: number): Block {
  const first = markerOf(cursor.lines[cursor.at] ?? '') ?? { ordered: false, start: 1, indent: 0, width: 2 };
  const items: (readonly Block[])[] = [];
  for (;;) {
    const marker = markerOf(cursor.lines[cursor.at] ?? '');
    if (marker === undefined || marker.ordered !== first.ordered || marker.indent !== first.indent) break;
    items.push(blocksOf(takeItem(cursor, marker), depth + 1));
  }
  return { kind: 'list', ordered: first.ordered, start: first.start, items };
}

/** The lines of one item without its indentation: its own and those that are indented under it. */
function takeItem(cursor: Cursor, marker: Marker): string[] {
  const taken = [(cursor.lines[cursor.at] ?? '').slice(marker.width)];
  cursor.at += 1;
  while (cursor.at < cursor.lines.length) {
    const line = cursor.lines[cursor.at] ?? '';
    const indent = line.length - line.trimStart().length;
    const next = cursor.lines[cursor.at + 1] ?? '';
    if (line.trim() === '') {
      if (next.trim() === '' || next.length - next.trimStart().length <= marker.indent) break;
      taken.push('');
    } else if (indent > marker.indent) {
      taken.push(line.slice(Math.min(indent, marker.width)));
    } else {
      break;
    }
    cursor.at += 1;
  }
  return taken;
}

function isTableStart({ lines, at }: Cursor): boolean {
  const head = lines[at] ?? '';
  const divider = (lines[at + 1] ?? '').trim();
  return head.includes('|') && divider.includes('-') && divider.includes('|') && divider.split('').every((each) => '|-: '.includes(each));
}

function cellsOf(line: string): (readonly Inline[])[] {
  const inner = line.trim().replace(/^\|/, '').replace(/\|$/, '');
  return inner.split('|').map((cell) => inlinesOf(cell.trim()));
}

function table(cursor: Cursor): Block {
  const head = cellsOf(cursor.lines[cursor.at] ?? '');
  cursor.at += 2;
  const rows: (readonly (readonly Inline[])[])[] = [];
  for (let line = cursor.lines[cursor.at]; line?.includes('|') === true; line = cursor.lines[cursor.at]) {
    rows.push(cellsOf(line).slice(0, head.length));
    cursor.at += 1;
  }
  return { kind: 'table', head, rows };
}

function paragraph(cursor: Cursor): Block {
  const taken: string[] = [];
  while (cursor.at < cursor.lines.length) {
    const line = cursor.lines[cursor.at] ?? '';
    const ends =
      line.trim() === '' || isFence(line) || headingOf(line) !== undefined || line.startsWith('>') || markerOf(line) !== undefined;
    if (ends && taken.length > 0) break;
    taken.push(line);
    cursor.at += 1;
    if (line.trim() === '') break;
  }
  return { kind: 'paragraph', children: inlinesOf(taken.join('\n').trim()) };
}

/** Strong, emphasis, code, links and line breaks. A marker without its end is just text. */
export function inlinesOf(text: string, depth = 0): readonly Inline[] {
  const out: Inline[] = [];
  let plain = '';
  let at = 0;
  const flush = (): void => {
    if (plain !== '') out.push({ kind: 'text', text: plain });
    plain = '';
  };
  while (at < text.length) {
    const found = depth < MAX_DEPTH ? spanAt(text, at, depth) : undefined;
    if (found === undefined) {
      const escaped = text[at] === '\\' && at + 1 < text.length && '\\`*_[]()#!|>-'.includes(text[at + 1] ?? '');
      plain += text[escaped ? at + 1 : at] ?? '';
      at += escaped ? 2 : 1;
    } else {
      flush();
      out.push(found.inline);
      at = found.end;
    }
  }
  flush();
  return out;
}

/** A label or an address longer than this is no link; it also bounds the search for a closing bracket. */
const MAX_SPAN = 2_000;

function spanAt(text: string, at: number, depth: number): { inline: Inline; end: number } | undefined {
  const here = text[at];
  if (here === '\n') return { inline: { kind: 'break' }, end: at + 1 };
  if (here === '`') {
    const end = indexWithin(text, '`', at + 1);
    return end === -1 ? undefined : { inline: { kind: 'code', text: text.slice(at + 1, end) }, end: end + 1 };
  }
  if (text.startsWith('**', at) || text.startsWith('__', at)) return delimited(text, at, text.slice(at, at + 2), 'strong', depth);
  if (here === '*' || (here === '_' && !isWord(text[at - 1]))) return delimited(text, at, here, 'emphasis', depth);
  if (here === '!' && text[at + 1] === '[') {
    const link = linkAt(text, at + 1);
    return link === undefined ? undefined : { inline: { kind: 'image', alt: link.label }, end: link.end };
  }
  if (here === '[') {
    const link = linkAt(text, at);
    return link === undefined
      ? undefined
      : { inline: { kind: 'link', url: link.url, children: inlinesOf(link.label, depth + 1) }, end: link.end };
  }
  return undefined;
}

function indexWithin(text: string, wanted: string, from: number): number {
  const index = text.slice(from, from + MAX_SPAN).indexOf(wanted);
  return index === -1 ? -1 : from + index;
}

function delimited(
  text: string,
  at: number,
  marker: string,
  kind: 'strong' | 'emphasis',
  depth: number,
): { inline: Inline; end: number } | undefined {
  const start = at + marker.length;
  const end = indexWithin(text, marker, start);
  if (end <= start || text[start] === ' ' || text[end - 1] === ' ') return undefined;
  return { inline: { kind, children: inlinesOf(text.slice(start, end), depth + 1) }, end: end + marker.length };
}

function isWord(character: string | undefined): boolean {
  return character !== undefined && /[\p{L}\p{N}]/u.test(character);
}

function linkAt(text: string, at: number): { label: string; url: string; end: number } | undefined {
  const close = indexWithin(text, ']', at + 1);
  if (close === -1 || text[close + 1] !== '(') return undefined;
  const end = indexWithin(text, ')', close + 2);
  if (end === -1) return undefined;
  const [url = ''] = text
    .slice(close + 2, end)
    .trim()
    .split(' ');
  return { label: text.slice(at + 1, close), url, end: end + 1 };
}
