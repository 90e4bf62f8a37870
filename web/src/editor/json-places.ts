/**
 * Where each value of a JSON text stands, also while the text is being written and is not complete. One pass, no recursion: a text of
 * any depth costs no stack.
 */
import { jsonPath, type PathPart } from '@engine/json-path.ts';

export interface Place {
  readonly parts: readonly PathPart[];
  readonly kind: 'object' | 'array' | 'string' | 'other';
  /** Of the value itself. */
  readonly from: number;
  readonly to: number;
  /** Of the key in quotes, for members of objects. */
  readonly key?: { readonly from: number; readonly to: number };
}

export interface Places {
  readonly all: readonly Place[];
  /** By path as the engine writes it: `steps[2].prompt`. */
  readonly byPath: ReadonlyMap<string, Place>;
  /** The innermost place around a position: what somebody is working on. */
  at(position: number): Place | undefined;
}

interface Open {
  readonly parts: readonly PathPart[];
  readonly kind: 'object' | 'array';
  readonly from: number;
  readonly keyOf: Place['key'];
  /** Members so far. */
  index: number;
  /** The key that waits for its value. */
  key: { readonly name: string; readonly from: number; readonly to: number } | undefined;
}

/** Deeper values have no place of their own: each path is as long as its depth, and a hostile text is very deep. */
const MAX_DEPTH = 100;

export function placesOf(text: string): Places {
  const all: Place[] = [];
  const stack: Open[] = [];
  let at = 0;
  const end = (open: Open, to: number): void => {
    if (open.parts.length < MAX_DEPTH)
      all.push({ parts: open.parts, kind: open.kind, from: open.from, to, ...(open.keyOf === undefined ? {} : { key: open.keyOf }) });
  };
  while (at < text.length) {
    const character = text[at] ?? '';
    const open = stack.at(-1);
    if (character === '{' || character === '[') {
      const { parts, key } = memberOf(open);
      stack.push({ parts, kind: character === '{' ? 'object' : 'array', from: at, keyOf: key, index: 0, key: undefined });
      at += 1;
    } else if (character === '}' || character === ']') {
      if (open !== undefined) end(open, at + 1);
      stack.pop();
      settle(stack.at(-1));
      at += 1;
    } else if (character === '"') {
      at = string(text, at, open, all);
    } else if (character === ',' || character === ':' || /\s/.test(character)) {
      at += 1;
    } else {
      at = other(text, at, open, all);
    }
  }
  // What was never closed reaches to the end: that is where somebody is writing.
  for (const open of stack.reverse()) end(open, text.length);
  return lookup(all);
}

/** The path and key of the value that is about to begin. */
function memberOf(open: Open | undefined): { parts: readonly PathPart[]; key: Place['key'] } {
  if (open === undefined) return { parts: [], key: undefined };
  if (open.parts.length >= MAX_DEPTH) return { parts: open.parts, key: undefined };
  if (open.kind === 'array') return { parts: [...open.parts, open.index], key: undefined };
  const { key } = open;
  return { parts: [...open.parts, key?.name ?? ''], key: key === undefined ? undefined : { from: key.from, to: key.to } };
}

function settle(open: Open | undefined): void {
  if (open === undefined) return;
  open.index += 1;
  open.key = undefined;
}

function string(text: string, from: number, open: Open | undefined, all: Place[]): number {
  let to = from + 1;
  while (to < text.length && text[to] !== '"' && text[to] !== '\n') to += text[to] === '\\' ? 2 : 1;
  to = Math.min(text.length, to + 1);
  if (open?.kind === 'object' && open.key === undefined && !followsColon(text, from)) {
    open.key = { name: nameOf(text.slice(from, to)), from, to };
    return to;
  }
  value(open, all, 'string', from, to);
  return to;
}

/** A string after a colon is a value, even when its key is broken. */
function followsColon(text: string, from: number): boolean {
  let at = from - 1;
  while (at >= 0 && /\s/.test(text[at] ?? '')) at -= 1;
  return text[at] === ':';
}

function nameOf(quoted: string): string {
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted.replaceAll('"', '');
  }
}

function other(text: string, from: number, open: Open | undefined, all: Place[]): number {
  let to = from + 1;
  while (to < text.length && !/[\s,:{}[\]"]/.test(text[to] ?? '')) to += 1;
  value(open, all, 'other', from, to);
  return to;
}

function value(open: Open | undefined, all: Place[], kind: Place['kind'], from: number, to: number): void {
  const { parts, key } = memberOf(open);
  if (parts.length < MAX_DEPTH) all.push({ parts, kind, from, to, ...(key === undefined ? {} : { key }) });
  settle(open);
}

function lookup(all: readonly Place[]): Places {
  const byPath = new Map(all.map((place) => [jsonPath(place.parts), place]));
  return {
    all,
    byPath,
    at(position) {
      let best: Place | undefined;
      for (const place of all) {
        const from = place.key?.from ?? place.from;
        if (from <= position && position <= place.to && (best === undefined || place.to - from <= best.to - (best.key?.from ?? best.from)))
          best = place;
      }
      return best;
    },
  };
}

/** The place that a problem names, or the nearest one around it that exists. */
export function placeOfProblem(places: Places, path: string): Place | undefined {
  let rest = path;
  for (;;) {
    const place = places.byPath.get(rest);
    if (place !== undefined || rest === '') return place;
    rest = rest.slice(0, Math.max(0, rest.lastIndexOf('.'), rest.lastIndexOf('[')));
  }
}
