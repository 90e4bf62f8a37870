import { KilnError } from '../model/errors.ts';
import { stepIdPattern } from '../model/paths.ts';
import { parseJson } from './json.ts';
import type { Json } from './json.ts';

export type PathSegment = string | number;

interface ReferenceText {
  /** The reference as it is written, braces included. */
  readonly text: string;
  /** Taken when the root or the path is missing; absent when no default is declared. */
  readonly fallback?: Json;
}

/** What stands between `{{` and `}}`. */
export type Reference = ReferenceText &
  (
    | { readonly root: 'workflow_input'; readonly path: PathSegment[] }
    | { readonly root: 'step'; readonly stepId: string; readonly path: PathSegment[] }
    | { readonly root: 'loop_item'; readonly path: PathSegment[] }
    | { readonly root: 'loop_index' }
    | { readonly root: 'run'; readonly path: PathSegment[] }
    /** What a recipe is given. */
    | { readonly root: 'input'; readonly path: PathSegment[] }
    | { readonly root: 'secret'; readonly name: string }
  );

export type Piece = { readonly kind: 'text'; readonly text: string } | { readonly kind: 'reference'; readonly reference: Reference };

export const PLACEHOLDERS_MAX = 1_000;
export const OPENING = '{{';
const CLOSING = '}}';
const BACKSLASH = 0x5c;

const rootPattern = /[A-Za-z_]+/y;
const keyPattern = /[^\s.[\]{}|"'\\]+/y;
const indexPattern = /(?:0|[1-9]\d{0,14})/y;
const secretNamePattern = /[A-Za-z_][A-Za-z0-9_]{0,127}/y;
const spacePattern = /\s*/y;
const defaultPattern = /default\s*:/y;

/** Names that lead out of the data in JavaScript; never needed, so refused before anything is looked up. */
const refusedKeys: ReadonlySet<string> = new Set(['__proto__', 'prototype', 'constructor']);

/**
 * Splits a text into literal parts and references. `\{{` is a literal `{{`; so that a backslash can stand before a
 * reference, `\\{{` is a backslash and a reference.
 *
 * @param place where the text stands, for the error
 * @throws KilnError `template.syntax`, `template.too_large` (over 1,000 references)
 */
export function parseTemplate(text: string, place: string): Piece[] {
  const pieces: Piece[] = [];
  let literal = '';
  let from = 0;
  let references = 0;
  for (let open = text.indexOf(OPENING); open !== -1; open = text.indexOf(OPENING, from)) {
    const slashes = backslashesBefore(text, open, from);
    literal += text.slice(from, open - slashes) + '\\'.repeat(slashes / 2);
    if (slashes % 2 === 1) {
      literal += OPENING;
      from = open + OPENING.length;
      continue;
    }
    references += 1;
    if (references > PLACEHOLDERS_MAX) {
      throw new KilnError('template.too_large', `${where(place)} has more than ${PLACEHOLDERS_MAX} references.`, { data: { place } });
    }
    if (literal !== '') {
      pieces.push({ kind: 'text', text: literal });
      literal = '';
    }
    const reader = new Reader(text, open + OPENING.length, place);
    const reference = readReference(reader);
    from = reader.at;
    pieces.push({ kind: 'reference', reference: { ...reference, text: text.slice(open, from) } });
  }
  literal += text.slice(from);
  if (literal !== '' || pieces.length === 0) {
    pieces.push({ kind: 'text', text: literal });
  }
  return pieces;
}

/**
 * Parses a path on its own, as input mappings use it: `a.b[0]["any key"]`; the empty text is the whole value.
 *
 * @throws KilnError `template.syntax`
 */
export function parsePath(text: string, place = ''): PathSegment[] {
  if (text === '') {
    return [];
  }
  const reader = new Reader(text.startsWith('[') ? text : `.${text}`, 0, place);
  const path = readPath(reader);
  if (reader.at !== reader.text.length) {
    throw reader.fault(`"${text}" is not a path; write a.b[0]["any key"]`);
  }
  return path;
}

export function backslashesBefore(text: string, position: number, from: number): number {
  let start = position;
  while (start > from && text.charCodeAt(start - 1) === BACKSLASH) {
    start -= 1;
  }
  return position - start;
}

class Reader {
  readonly text: string;
  readonly place: string;
  at: number;

  constructor(text: string, at: number, place: string) {
    this.text = text;
    this.at = at;
    this.place = place;
  }

  /** The match of a sticky pattern at the current position, which moves past it. */
  take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.text)?.[0];
    this.at += match?.length ?? 0;
    return match;
  }

  skip(literal: string): boolean {
    const found = this.text.startsWith(literal, this.at);
    if (found) {
      this.at += literal.length;
    }
    return found;
  }

  fault(message: string): KilnError {
    return new KilnError('template.syntax', `${where(this.place)}, at character ${this.at}: ${message}.`, {
      data: { place: this.place, position: this.at },
    });
  }
}

/** Distributes over the union, so that each root keeps its own fields. */
type WithoutText<T> = T extends unknown ? Omit<T, 'text'> : never;

function readReference(reader: Reader): WithoutText<Reference> {
  reader.take(spacePattern);
  const start = reader.at;
  const root = reader.take(rootPattern);
  const reference = readRoot(reader, root ?? '', start);
  reader.take(spacePattern);
  const fallback = readDefault(reader);
  if (!reader.skip(CLOSING)) {
    throw reader.fault(`}} is missing, or what stands before it is not a path; write a.b[0]["any key"]. A literal {{ is written \\{{`);
  }
  if (fallback === undefined) {
    return reference;
  }
  if (reference.root === 'secret') {
    throw reader.fault('a secret has no default');
  }
  return { ...reference, fallback };
}

function readRoot(reader: Reader, root: string, start: number): WithoutText<Reference> {
  switch (root) {
    case 'workflow_input':
    case 'loop_item':
    case 'run':
    case 'input':
      return { root, path: readPath(reader) };
    case 'loop_index':
      return { root };
    case 'step': {
      const [stepId, ...path] = readPath(reader);
      if (typeof stepId !== 'string' || !stepIdPattern.test(stepId)) {
        throw reader.fault('a step id must follow: {{step.id.path}}');
      }
      return { root, stepId, path };
    }
    case 'secret': {
      const name = reader.skip('.') ? reader.take(secretNamePattern) : undefined;
      if (name === undefined) {
        throw reader.fault('a name must follow: {{secret.NAME}}');
      }
      return { root, name };
    }
    default:
      reader.at = start;
      throw reader.fault(
        'a reference starts with workflow_input, step, loop_item, loop_index, run or secret. A literal {{ is written \\{{',
      );
  }
}

function readPath(reader: Reader): PathSegment[] {
  const path: PathSegment[] = [];
  for (;;) {
    if (reader.skip('.')) {
      const key = reader.take(keyPattern);
      if (key === undefined) {
        throw reader.fault('a key must follow the point; a key with other characters is written ["any key"]');
      }
      path.push(allowed(reader, key));
    } else if (reader.skip('[')) {
      path.push(readBracket(reader));
    } else {
      return path;
    }
  }
}

function readBracket(reader: Reader): PathSegment {
  const index = reader.take(indexPattern);
  const segment = index === undefined ? readQuoted(reader) : Number(index);
  if (segment === undefined || !reader.skip(']')) {
    throw reader.fault('between [ and ] stands a position such as 0, or a key in double quotes such as "any key"');
  }
  return typeof segment === 'string' ? allowed(reader, segment) : segment;
}

/** A JSON string, so that every key can be written. */
function readQuoted(reader: Reader): string | undefined {
  if (reader.text[reader.at] !== '"') {
    return undefined;
  }
  let end = reader.at + 1;
  while (end < reader.text.length && reader.text[end] !== '"') {
    end += reader.text[end] === '\\' ? 2 : 1;
  }
  const literal = reader.text.slice(reader.at, end + 1);
  const key = readLiteral(reader, literal, 'the key in [" "]');
  reader.at = end + 1;
  return typeof key === 'string' ? key : undefined;
}

function allowed(reader: Reader, key: string): string {
  if (refusedKeys.has(key)) {
    throw reader.fault(`the key "${key}" cannot be referenced`);
  }
  return key;
}

function readDefault(reader: Reader): Json | undefined {
  if (!reader.skip('|')) {
    return undefined;
  }
  reader.take(spacePattern);
  if (reader.take(defaultPattern) === undefined) {
    throw reader.fault('after | only "default: <JSON>" may follow');
  }
  const end = endOfLiteral(reader.text, reader.at);
  if (end === -1) {
    throw reader.fault('}} is missing after the default');
  }
  const literal = reader.text.slice(reader.at, end);
  const value = readLiteral(reader, literal, 'the default');
  reader.at = end;
  return value;
}

function readLiteral(reader: Reader, literal: string, what: string): Json {
  try {
    return parseJson(literal);
  } catch {
    throw reader.fault(`${what} must be JSON, such as "text", 0, false, null, [] or {}; this is ${literal.trim().slice(0, 60)}`);
  }
}

/** Where `}}` stands outside strings and brackets: the default may itself contain it. */
function endOfLiteral(text: string, from: number): number {
  let depth = 0;
  let inString = false;
  for (let index = from; index < text.length; index += 1) {
    const char = text[index];
    if (inString) {
      if (char === '\\') {
        index += 1;
      } else if (char === '"') {
        inString = false;
      }
    } else if (char === '"') {
      inString = true;
    } else if (char === '{' || char === '[') {
      depth += 1;
    } else if (depth === 0 && text.startsWith(CLOSING, index)) {
      return index;
    } else if (char === '}' || char === ']') {
      depth -= 1;
    }
  }
  return -1;
}

function where(place: string): string {
  return place === '' ? 'In the template' : `In ${place}`;
}
