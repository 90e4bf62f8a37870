import { createHash } from 'node:crypto';
import { KilnError } from '../model/errors.ts';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export const PAYLOAD_MAX_BYTES = 8 * 1024 * 1024;
export const INLINE_MAX_BYTES = 200 * 1024;
export const JSON_MAX_DEPTH = 100;

/** How far an oversized value is still measured; beyond it the error says "more than". Lists that share parts can be endless. */
const MEASURE_MAX_CHARS = 128 * 1024 * 1024;
const MEASURE_MAX_MEMBERS = 100_000;
const PREVIEW_CHARS = 200;

/** SHA-256 of the UTF-8 text, in hex. */
export function digest(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

/** Bytes of the text in UTF-8. */
export function byteLength(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}

/** A JSON pointer (RFC 6901). Broken surrogates are replaced, so that it can be stored and shown. */
export function pointer(path: readonly (string | number)[]): string {
  return path.map((part) => `/${String(part).toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** Sets an own property, also one called `__proto__`. */
export function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[key] = value;
  }
}

interface Frame {
  readonly container: Readonly<Record<string | number, unknown>>;
  /** Sorted keys of an object; null for a list. */
  readonly keys: readonly string[] | null;
  readonly length: number;
  index: number;
  wroteMember: boolean;
}

/**
 * The value as canonical JSON (RFC 8785): keys sorted by UTF-16 code unit, no spaces.
 *
 * The one rule for `undefined`: a property that is undefined is left out, undefined at the top is `null`, and undefined (or a
 * hole) in a list is an error. Whatever else JSON cannot carry is an error that names the place; nothing is silently changed.
 *
 * @throws KilnError `payload.unsupported`, `payload.too_deep` (over 100 levels), `payload.too_large` (over 8 MiB)
 */
export function canonicalJson(value: unknown): string {
  const stack: Frame[] = [];
  const ancestors = new Set<object>();
  if (typeof value !== 'object' || value === null) {
    return withinLimit(value === undefined ? 'null' : scalar(value, stack));
  }
  let text = open(value, stack, ancestors);
  let surplus = 0;
  for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
    const { keys, container } = frame;
    if (frame.index === frame.length) {
      text += keys === null ? ']' : '}';
      ancestors.delete(container);
      stack.pop();
      continue;
    }
    const key = keys === null ? frame.index : (keys[frame.index] ?? '');
    frame.index += 1;
    const member = container[key];
    if (keys !== null && member === undefined) {
      continue;
    }
    if (frame.wroteMember) {
      text += ',';
    }
    frame.wroteMember = true;
    if (keys !== null) {
      text += `${scalar(key, stack)}:`;
    }
    text += typeof member === 'object' && member !== null ? open(member, stack, ancestors) : scalar(member, stack);
    if (text.length > PAYLOAD_MAX_BYTES) {
      surplus += 1;
      if (surplus > MEASURE_MAX_MEMBERS || text.length > MEASURE_MAX_CHARS) {
        throw tooLarge(text, `more than ${text.length}`, text.length);
      }
    }
  }
  return withinLimit(text);
}

function withinLimit(text: string): string {
  const size = byteLength(text);
  if (size > PAYLOAD_MAX_BYTES) {
    throw tooLarge(text, String(size), size);
  }
  return text;
}

function scalar(value: unknown, stack: readonly Frame[]): string {
  switch (typeof value) {
    case 'string':
      if (!value.isWellFormed()) {
        throw unsupported('a text with a lone surrogate (half of a character)', stack);
      }
      return JSON.stringify(value);
    case 'number':
      if (!Number.isFinite(value)) {
        throw unsupported(`the number ${value}`, stack);
      }
      return String(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      return 'null';
    case 'undefined':
      throw unsupported('undefined in a list', stack);
    case 'bigint':
      throw unsupported('a BigInt', stack);
    case 'function':
      throw unsupported('a function', stack);
    case 'symbol':
      throw unsupported('a symbol', stack);
    default:
      throw unsupported('a value of an unknown kind', stack);
  }
}

/** Puts a container on the stack, once it is known to be a plain one, and returns its opening bracket. */
function open(value: object, stack: Frame[], ancestors: Set<object>): string {
  if (ancestors.has(value)) {
    throw unsupported('a cycle (the value contains itself)', stack);
  }
  if (stack.length >= JSON_MAX_DEPTH) {
    throw new KilnError('payload.too_deep', `The value is nested deeper than ${JSON_MAX_DEPTH} levels at ${place(stack)}.`, {
      data: { path: pointer(pathOf(stack)) },
    });
  }
  const list = Array.isArray(value);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (list ? !isArrayPrototype(prototype) : !isObjectPrototype(prototype)) {
    throw unsupported(describeInstance(value), stack);
  }
  if (Object.getOwnPropertySymbols(value).length > 0) {
    throw unsupported('a property whose key is a symbol', stack);
  }
  const keys = Object.keys(value);
  if (list && keys.length > value.length) {
    throw unsupported('a list with named properties', stack);
  }
  const container = value as Readonly<Record<string | number, unknown>>;
  ancestors.add(container);
  stack.push({ container, keys: list ? null : keys.sort(), length: list ? value.length : keys.length, index: 0, wroteMember: false });
  return list ? '[' : '{';
}

/** True for `Array.prototype` of any realm, but not of a subclass: only the real ones are themselves lists. */
function isArrayPrototype(prototype: unknown): boolean {
  return prototype === Array.prototype || (Array.isArray(prototype) && !Array.isArray(Object.getPrototypeOf(prototype)));
}

/** True for no prototype and for `Object.prototype` of any realm. */
function isObjectPrototype(prototype: unknown): boolean {
  if (prototype === null || prototype === Object.prototype) {
    return true;
  }
  return typeof prototype === 'object' && Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf');
}

function describeInstance(value: object): string {
  const constructor: unknown = Reflect.get(value, 'constructor');
  const name = typeof constructor === 'function' ? constructor.name : '';
  return name === '' ? 'a class instance' : `a ${name}`;
}

function pathOf(stack: readonly Frame[]): (string | number)[] {
  const inside = stack.filter((frame) => frame.index > 0);
  return inside.map((frame) => (frame.keys === null ? frame.index - 1 : (frame.keys[frame.index - 1] ?? '')));
}

function place(stack: readonly Frame[]): string {
  const path = pointer(pathOf(stack));
  return path === '' ? 'the top' : path.length > 500 ? `${path.slice(0, 500)}…` : path;
}

function unsupported(what: string, stack: readonly Frame[]): KilnError {
  return new KilnError('payload.unsupported', `JSON cannot carry ${what}, found at ${place(stack)}.`, {
    data: { path: pointer(pathOf(stack)) },
  });
}

function tooLarge(text: string, size: string, bytes: number): KilnError {
  const preview = text.slice(0, PREVIEW_CHARS).toWellFormed();
  return new KilnError(
    'payload.too_large',
    `The value has ${size} bytes as JSON; the limit is ${PAYLOAD_MAX_BYTES}. It begins: ${preview}`,
    {
      data: { size: bytes, limit: PAYLOAD_MAX_BYTES, preview },
    },
  );
}

/**
 * Parses JSON text. An own `__proto__` key stays an own property; a byte order mark at the start is ignored.
 *
 * @throws KilnError `payload.invalid_json`, `payload.too_deep`, `payload.too_large`
 */
export function parseJson(text: string): Json {
  const source = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  const size = byteLength(source);
  if (size > PAYLOAD_MAX_BYTES) {
    throw tooLarge(source, String(size), size);
  }
  checkTextDepth(source);
  try {
    return JSON.parse(source) as Json;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new KilnError('payload.invalid_json', `The text is not JSON: ${reason}`, { cause: error });
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Counts brackets outside strings before anything is built, so that a hostile text costs one pass and no memory. */
function checkTextDepth(text: string): void {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (inString) {
      if (code === BACKSLASH) {
        index += 1;
      } else if (code === QUOTE) {
        inString = false;
      }
    } else if (code === QUOTE) {
      inString = true;
    } else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      depth += 1;
      if (depth > JSON_MAX_DEPTH) {
        throw new KilnError('payload.too_deep', `The JSON text is nested deeper than ${JSON_MAX_DEPTH} levels at character ${index}.`, {
          data: { position: index },
        });
      }
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) {
      depth -= 1;
    }
  }
}
