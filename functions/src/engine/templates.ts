import { KilnError, toErrorRecord } from '../model/errors.ts';
import { byteLength, canonicalJson, PAYLOAD_MAX_BYTES, pointer, setOwn } from './json.ts';
import type { Json } from './json.ts';
import { nearestKey } from './nearest.ts';
import type { Problem } from './problem.ts';
import { backslashesBefore, OPENING, parseTemplate } from './template-syntax.ts';
import type { PathSegment, Reference } from './template-syntax.ts';

export { parsePath } from './template-syntax.ts';
export type { PathSegment, Reference } from './template-syntax.ts';

export interface PlacedReference {
  readonly reference: Reference;
  /** JSON pointer of the string that holds it. */
  readonly path: string;
}

/** Every reference in a configuration, and every place that cannot be read. Keys of objects are not templates. */
export function templatesIn(value: Json): { references: PlacedReference[]; problems: Problem[] } {
  const references: PlacedReference[] = [];
  const problems: Problem[] = [];
  mapStrings(value, (text, path) => {
    if (text.includes(OPENING)) {
      try {
        for (const piece of parseTemplate(text, path())) {
          if (piece.kind === 'reference') {
            references.push({ reference: piece.reference, path: path() });
          }
        }
      } catch (error) {
        problems.push({
          path: path(),
          code: error instanceof KilnError ? error.code : 'template.syntax',
          message: toErrorRecord(error).message,
        });
      }
    }
    return text;
  });
  return { references, problems };
}

/**
 * Every reference in a configuration, in the order of its strings.
 *
 * @throws KilnError `template.syntax` with the place, at the first text that cannot be read
 */
export function referencesIn(value: Json): Reference[] {
  const references: Reference[] = [];
  mapStrings(value, (text, path) => {
    if (text.includes(OPENING)) {
      references.push(...parseTemplate(text, path()).flatMap((piece) => (piece.kind === 'reference' ? [piece.reference] : [])));
    }
    return text;
  });
  return references;
}

/** The value at the path, or undefined. Only own properties of objects and positions of lists are followed. */
export function walkPath(root: Json, path: readonly PathSegment[]): Json | undefined {
  let current: Json | undefined = root;
  for (const segment of path) {
    current = stepInto(current, segment);
    if (current === undefined) {
      return undefined;
    }
  }
  return current;
}

function stepInto(value: Json, segment: PathSegment): Json | undefined {
  if (typeof value !== 'object' || value === null) {
    return undefined;
  }
  if (Array.isArray(value)) {
    return typeof segment === 'number' ? value[segment] : undefined;
  }
  return typeof segment === 'string' && Object.hasOwn(value, segment) ? value[segment] : undefined;
}

/**
 * The value at the path.
 *
 * @param label what the path starts from, such as `step "fetch"`
 * @throws KilnError `template.missing_path` naming label, path and the nearest key there is
 */
export function requirePath(root: Json, path: readonly PathSegment[], label: string): Json {
  let current: Json = root;
  for (const [depth, segment] of path.entries()) {
    const next = stepInto(current, segment);
    if (next === undefined) {
      throw missingPath(label, path, depth, current);
    }
    current = next;
  }
  return current;
}

interface ResolveOptions {
  /**
   * True (the default) for configurations that go outside: `{{secret.NAME}}` stays in place and the result is *sealed*, that is,
   * it must pass through `resolveSecrets` before use. False for all others: a secret reference is an error.
   */
  readonly keepSecrets?: boolean;
}

interface Insertion {
  readonly value: Json;
  readonly text: string;
  readonly bytes: number;
}

/**
 * Fills in the templates of a configuration. A string that is one single reference becomes the value with its type. In mixed
 * text a string is inserted as it is, everything else as canonical JSON. Inserted text is never expanded again.
 *
 * @param lookup returns the whole value of the reference's root, or undefined when there is none; the path is walked here
 * @throws KilnError `template.syntax`, `template.missing_step`, `template.missing_path`, `template.too_large`, `secret.not_allowed`
 */
export function resolveTemplates(value: Json, lookup: (reference: Reference) => Json | undefined, options: ResolveOptions = {}): Json {
  const keepSecrets = options.keepSecrets ?? true;
  const inserted = new Map<string, Insertion>();
  let bytes = 0;

  const spend = (amount: number, path: () => string): void => {
    bytes += amount;
    if (bytes > PAYLOAD_MAX_BYTES) {
      const place = path();
      throw new KilnError('template.too_large', `Filled in, the configuration is over ${PAYLOAD_MAX_BYTES} bytes at ${place}.`, {
        data: { place },
      });
    }
  };

  const insertionFor = (reference: Reference): Insertion => {
    const known = inserted.get(reference.text);
    if (known !== undefined) {
      return known;
    }
    const found = valueOf(reference, lookup);
    const text = typeof found === 'string' ? found : canonicalJson(found);
    const insertion = { value: found, text, bytes: byteLength(text) };
    inserted.set(reference.text, insertion);
    return insertion;
  };

  return mapStrings(value, (text, path) => {
    if (!text.includes(OPENING)) {
      spend(byteLength(text), path);
      return text;
    }
    const pieces = parseTemplate(text, path());
    const [first] = pieces;
    if (pieces.length === 1 && first?.kind === 'reference' && first.reference.root !== 'secret') {
      const insertion = insertionFor(first.reference);
      spend(insertion.bytes, path);
      return keepSecrets && insertion.text.includes(SECRET_OPENING) ? mapStrings(insertion.value, seal) : insertion.value;
    }
    let result = '';
    let run = '';
    for (const piece of pieces) {
      if (piece.kind === 'text') {
        spend(byteLength(piece.text), path);
        run += piece.text;
      } else if (piece.reference.root === 'secret') {
        if (!keepSecrets) {
          throw new KilnError('secret.not_allowed', `${piece.reference.text} at ${path()} is not in a field that goes outside.`);
        }
        // Backslashes at the end of the run must not be read as escaping the secret.
        result += seal(run) + '\\'.repeat(backslashesBefore(run, run.length, 0)) + `${SECRET_OPENING}${piece.reference.name}}}`;
        run = '';
      } else {
        const insertion = insertionFor(piece.reference);
        spend(insertion.bytes, path);
        run += insertion.text;
      }
    }
    return result + (keepSecrets ? seal(run) : run);
  });
}

function valueOf(reference: Reference, lookup: (reference: Reference) => Json | undefined): Json {
  const root = lookup(reference);
  if (root === undefined) {
    if (reference.fallback !== undefined) {
      return reference.fallback;
    }
    throw missingRoot(reference);
  }
  const path = pathOf(reference);
  if (reference.fallback === undefined) {
    return requirePath(root, path, labelOf(reference));
  }
  const found = walkPath(root, path);
  return found === undefined ? reference.fallback : found; // null is a value
}

const SECRET_OPENING = '{{secret.';
const secretPattern = /\{\{secret\.([A-Za-z_][A-Za-z0-9_]{0,127})\}\}/g;

/**
 * Escapes what looks like a secret reference in text that came from data. Without it, whoever can write into an input could
 * have a secret put there by `resolveSecrets`, which sees only the finished text.
 */
export function seal(text: string): string {
  return replaceSecrets(text, (slashes, match) => `${'\\'.repeat(2 * slashes + 1)}${match}`);
}

/** Replaces each secret reference together with the backslashes before it. Not one pattern, which would be quadratic in backslashes. */
function replaceSecrets(text: string, replace: (slashes: number, match: string, name: string) => string): string {
  if (!text.includes(SECRET_OPENING)) {
    return text;
  }
  let result = '';
  let from = 0;
  for (const match of text.matchAll(secretPattern)) {
    const slashes = backslashesBefore(text, match.index, from);
    result += text.slice(from, match.index - slashes) + replace(slashes, match[0], match[1] ?? '');
    from = match.index + match[0].length;
  }
  return result + text.slice(from);
}

/** Puts the secrets into a sealed configuration, at call time, and lifts the seal. The result is never stored. */
export function resolveSecrets(value: Json, secret: (name: string) => string): Json {
  return mapStrings(value, (text) =>
    replaceSecrets(text, (slashes, match, name) => '\\'.repeat(slashes / 2) + (slashes % 2 === 1 ? match : secret(name))),
  );
}

interface Frame {
  readonly source: Json[] | { [key: string]: Json };
  readonly target: Json[] | { [key: string]: Json };
  readonly keys: readonly string[] | null;
  readonly length: number;
  index: number;
}

/** A copy of the value with every string replaced; iterative, because configurations come from outside. */
function mapStrings(value: Json, map: (text: string, path: () => string) => Json): Json {
  if (typeof value === 'string') {
    return map(value, () => '');
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  const root = frameFor(value);
  const stack = [root];
  const path = (): string => pointer(stack.map((frame) => (frame.keys === null ? frame.index - 1 : (frame.keys[frame.index - 1] ?? ''))));
  for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
    if (frame.index === frame.length) {
      stack.pop();
      continue;
    }
    const key = frame.keys === null ? frame.index : (frame.keys[frame.index] ?? '');
    frame.index += 1;
    const member = (frame.source as Record<PathSegment, Json>)[key] ?? null;
    if (typeof member === 'string') {
      put(frame, key, map(member, path));
    } else if (typeof member === 'object' && member !== null) {
      const child = frameFor(member);
      put(frame, key, child.target);
      stack.push(child);
    } else {
      put(frame, key, member);
    }
  }
  return root.target;
}

/** Members come in order, so a list grows at its end. */
function put(frame: Frame, key: PathSegment, value: Json): void {
  if (Array.isArray(frame.target)) {
    frame.target.push(value);
  } else {
    setOwn(frame.target, String(key), value);
  }
}

function frameFor(source: Json[] | { [key: string]: Json }): Frame {
  if (Array.isArray(source)) {
    return { source, target: [], keys: null, length: source.length, index: 0 };
  }
  const keys = Object.keys(source);
  return { source, target: {}, keys, length: keys.length, index: 0 };
}

function pathOf(reference: Reference): readonly PathSegment[] {
  switch (reference.root) {
    case 'workflow_input':
    case 'step':
    case 'loop_item':
    case 'run':
    case 'input':
      return reference.path;
    case 'loop_index':
    case 'secret':
      return [];
  }
}

function labelOf(reference: Reference): string {
  return reference.root === 'step' ? `step "${reference.stepId}"` : reference.root;
}

function missingRoot(reference: Reference): KilnError {
  const data = { reference: reference.text, ...(reference.root === 'step' ? { stepId: reference.stepId } : {}) };
  switch (reference.root) {
    case 'step':
      return new KilnError(
        'template.missing_step',
        `${reference.text}: step "${reference.stepId}" has no output here; it did not run, or it cannot be seen from here.`,
        { data },
      );
    case 'loop_item':
    case 'loop_index':
      return new KilnError('template.missing_step', `${reference.text}: there is no ${reference.root} outside a loop.`, { data });
    case 'workflow_input':
    case 'run':
    case 'input':
    case 'secret':
      return new KilnError('template.missing_step', `${reference.text}: there is no ${reference.root} here.`, { data });
  }
}

/** `a.b[0]["any key"]`, as it would be written in a template. */
function formatPath(path: readonly PathSegment[]): string {
  const text = path
    .map((part) => (typeof part === 'number' ? `[${part}]` : /^[\w$-]+$/u.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`))
    .join('');
  return text.startsWith('.') ? text.slice(1) : text;
}

function missingPath(label: string, path: readonly PathSegment[], depth: number, found: Json): KilnError {
  const at = formatPath(path.slice(0, depth));
  const segment = path[depth] ?? '';
  const nearest =
    typeof found === 'object' && found !== null && !Array.isArray(found) ? nearestKey(Object.keys(found), String(segment)) : undefined;
  const location = at === '' ? label : `${label} at ${at}`;
  const message = `${label} has no path ${formatPath(path)}: ${hintFor(found, segment, nearest, location)}`;
  return new KilnError('template.missing_path', message, {
    data: { from: label, path: formatPath(path), at, ...(nearest === undefined ? {} : { nearest }) },
  });
}

function hintFor(found: Json, segment: PathSegment, nearest: string | undefined, location: string): string {
  if (Array.isArray(found)) {
    const range = found.length === 0 ? 'an empty list' : `a list with the positions [0] to [${found.length - 1}]`;
    return `${location} is ${range}.`;
  }
  if (found === null) {
    return `${location} is null.`;
  }
  if (typeof found !== 'object') {
    return `${location} is a ${typeof found}, which has no parts.`;
  }
  if (nearest === undefined) {
    return `${location} is an empty object.`;
  }
  return `${location} has no key ${JSON.stringify(String(segment))}; the nearest is ${JSON.stringify(nearest)}.`;
}
