import { createHash } from 'node:crypto';
import { asArray, asNumber, asObject, asString, type JsonObject } from '../json-fields.ts';
import { affinity, countStems, stem, wordsOf } from './words.ts';

/** What an answer is derived from. */
export interface Subject {
  readonly text: string;
  readonly stems: ReadonlyMap<string, number>;
  /** Sentences worth repeating, the longest first part of the prompt. */
  readonly sentences: readonly string[];
  readonly numbers: readonly number[];
}

export function subjectOf(text: string): Subject {
  const plain = text.replace(/\[\[fault:[^\]]*\]\]/g, '').trim();
  const sentences = plain
    .split(/(?<=[.!?])\s+|\n+/u)
    .map((part) => part.trim())
    .filter((part) => part.length > 0);
  const numbers = [...plain.matchAll(/(?<![\p{L}\d.])-?\d{1,15}(?:\.\d{1,6})?(?![\p{L}\d])/gu)].map((match) => Number(match[0]));
  return { text: plain, stems: countStems(plain), sentences, numbers };
}

interface Place {
  readonly root: JsonObject;
  /** The property that is being filled in: "amount", "labels". */
  readonly name: string;
  /** Which item of a list. */
  readonly index: number;
  readonly depth: number;
}

const maxDepth = 24;

/** A small stable number from a text: the tie breaker where the prompt says nothing. */
function pick(text: string, count: number): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0) % count;
}

function resolveRef(schema: JsonObject, root: JsonObject): JsonObject {
  let current = schema;
  for (let hops = 0; hops < 32; hops += 1) {
    const ref = asString(current['$ref']);
    if (ref === undefined || !ref.startsWith('#')) return current;
    let target: unknown = root;
    for (const part of ref
      .slice(1)
      .split('/')
      .filter((piece) => piece !== '')) {
      const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
      target = Array.isArray(target) ? target[Number(key)] : asObject(target)?.[key];
    }
    const { $ref: _, ...beside } = current;
    current = { ...asObject(target), ...beside };
  }
  return {};
}

/** `allOf` as one schema: later parts win, properties and required names add up. */
function mergeAll(schema: JsonObject, root: JsonObject): JsonObject {
  const parts = asArray(schema['allOf']).map((part) => mergeAll(resolveRef(asObject(part) ?? {}, root), root));
  const { allOf: _, ...own } = schema;
  return [...parts, own].reduce<JsonObject>(
    (merged, part) => ({
      ...merged,
      ...part,
      ...(merged['properties'] === undefined && part['properties'] === undefined
        ? {}
        : { properties: { ...asObject(merged['properties']), ...asObject(part['properties']) } }),
      ...(merged['required'] === undefined && part['required'] === undefined
        ? {}
        : { required: [...asArray(merged['required']), ...asArray(part['required'])] }),
    }),
    {},
  );
}

function choose(options: readonly unknown[], subject: Subject, place: Place): unknown {
  const scores = options.map((option) => affinity(String(option), subject.stems));
  const best = Math.max(...scores);
  const candidates = options.filter((_, index) => scores[index] === best);
  return candidates[pick(`${place.name}|${subject.text}`, candidates.length)];
}

function typeOf(schema: JsonObject): string {
  const declared = Array.isArray(schema['type']) ? schema['type'].find((type) => type !== 'null') : schema['type'];
  if (typeof declared === 'string') return declared;
  if (schema['properties'] !== undefined) return 'object';
  if (schema['items'] !== undefined || schema['prefixItems'] !== undefined) return 'array';
  if (schema['minimum'] !== undefined || schema['maximum'] !== undefined) return 'number';
  return Array.isArray(schema['type']) ? 'null' : 'string';
}

/** The number that stands behind the property's name in the prompt ("amount: 1200"), else the next one in it. */
function numberFor(subject: Subject, place: Place): number {
  for (const word of wordsOf(place.name)) {
    const behind = new RegExp(`${word}[^\\d\\n-]{0,24}(-?\\d{1,15}(?:\\.\\d{1,6})?)`, 'iu').exec(subject.text);
    if (behind?.[1] !== undefined) return Number(behind[1]);
  }
  const found = subject.numbers[place.index % Math.max(1, subject.numbers.length)];
  return found ?? pick(`${place.name}|${subject.text}`, 10);
}

function fitNumber(schema: JsonObject, wanted: number, integer: boolean): number {
  const step = asNumber(schema['multipleOf']) ?? (integer ? 1 : undefined);
  const above = asNumber(schema['exclusiveMinimum']);
  const below = asNumber(schema['exclusiveMaximum']);
  const min = Math.max(
    asNumber(schema['minimum']) ?? -Infinity,
    above === undefined ? -Infinity : above + (step ?? Math.max(1e-6, Math.abs(above) * 1e-6)),
  );
  const max = Math.min(
    asNumber(schema['maximum']) ?? Infinity,
    below === undefined ? Infinity : below - (step ?? Math.max(1e-6, Math.abs(below) * 1e-6)),
  );
  // A share such as a confidence: a number from the prompt would be clamped to its edge, which looks broken.
  const start = max === 1 && min >= 0 && (wanted < 0 || wanted > 1) ? 0.8 : wanted;
  const clamped = Math.min(max, Math.max(min, start));
  if (step === undefined) return clamped;
  const rounded = Math.round(clamped / step) * step;
  if (rounded < min) return Math.ceil(min / step) * step;
  return rounded > max ? Math.floor(max / step) * step : rounded;
}

const formats: Readonly<Record<string, (subject: Subject, place: Place) => string>> = {
  'date-time': (subject) => /\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?(?:\.\d+)?Z/.exec(subject.text)?.[0] ?? '2026-01-01T00:00:00Z',
  date: (subject) => /\d{4}-\d\d-\d\d/.exec(subject.text)?.[0] ?? '2026-01-01',
  time: () => '00:00:00Z',
  duration: () => 'P1D',
  email: (subject) => /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/.exec(subject.text)?.[0] ?? 'dev-model@example.com',
  hostname: () => 'example.com',
  ipv4: () => '192.0.2.1',
  ipv6: () => '2001:db8::1',
  uri: (subject) => /https?:\/\/[^\s"'<>)\]]+/.exec(subject.text)?.[0] ?? 'https://example.com/',
  uuid: (subject, place) => {
    const hex = createHash('sha256').update(`${place.name}${place.index}${subject.text}`).digest('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  },
};

/** Answers to try against a `pattern`; no attempt is made to solve the expression itself. */
function patternCandidates(pattern: RegExp, subject: Subject, place: Place, text: string): string[] {
  const global = new RegExp(pattern.source.replace(/^\^/, '').replace(/\$$/, ''), 'u');
  const found = global.exec(subject.text)?.[0];
  const slug = wordsOf(text).slice(0, 4);
  const digits = String(numberFor(subject, place)).replace(/\D/g, '');
  const letters = slug.join('').toUpperCase();
  return [
    found,
    text,
    slug.join('-'),
    slug.join('_'),
    slug[0],
    letters.slice(0, 3),
    letters.slice(0, 2),
    digits,
    digits.padStart(4, '0'),
    digits.padStart(5, '0'),
    `#${digits.padStart(6, '0').slice(-6)}`,
    `${letters.slice(0, 3)}-${digits}`,
    'a',
    'A',
    '0',
    'a1',
    '',
  ].filter((candidate) => candidate !== undefined);
}

function stringFor(schema: JsonObject, subject: Subject, place: Place): string {
  const format = formats[asString(schema['format']) ?? ''];
  if (format !== undefined) return format(subject, place);
  const named = wordsOf(place.name).map(stem);
  // The sentence that speaks of the property, else the prompt's own sentences in turn.
  const about = subject.sentences.find((sentence) => named.some((word) => wordsOf(sentence).map(stem).includes(word)));
  const behind = /^[^:]{1,40}:\s*(.+)$/su.exec(about ?? '')?.[1];
  const fallback = subject.sentences[place.index % Math.max(1, subject.sentences.length)] ?? 'The dev model has nothing to say.';
  let text = (behind ?? about ?? fallback).slice(0, 200);
  const source = asString(schema['pattern']);
  if (source !== undefined) {
    const pattern = compile(source);
    text =
      pattern === undefined
        ? text
        : (patternCandidates(pattern, subject, place, text).find((candidate) => pattern.test(candidate)) ?? text);
  }
  const min = asNumber(schema['minLength']) ?? 0;
  const max = asNumber(schema['maxLength']) ?? Infinity;
  // JSON Schema counts code points.
  const points = Array.from(text);
  if (points.length > max) return points.slice(0, max).join('');
  return points.length < min ? text + '.'.repeat(min - points.length) : text;
}

function compile(source: string): RegExp | undefined {
  try {
    return new RegExp(source, 'u');
  } catch {
    return undefined;
  }
}

function arrayFor(schema: JsonObject, subject: Subject, place: Place): unknown[] {
  const items = resolveRef(asObject(schema['items']) ?? {}, place.root);
  const prefix = asArray(schema['prefixItems']);
  const min = asNumber(schema['minItems']) ?? 0;
  const max = asNumber(schema['maxItems']) ?? 100;
  const options = asArray(items['enum']);
  if (options.length > 0) {
    const speaking = options.filter((option) => affinity(String(option), subject.stems) > 0);
    const rest = options.filter((option) => !speaking.includes(option));
    const ranked = [...speaking, ...rest];
    const count = Math.min(max, Math.max(min, speaking.length, 1));
    // More items than options: the schema cannot ask for unique ones then.
    return Array.from({ length: count }, (_, index) => ranked[index % ranked.length]);
  }
  // At least one item, so that a loop over the answer has something to do; none where that would never end.
  const count = Math.min(max, Math.max(min, prefix.length, place.depth > 8 ? 0 : Math.min(3, Math.max(1, subject.sentences.length))));
  const unique = schema['uniqueItems'] === true;
  const values: unknown[] = [];
  for (let index = 0; index < count; index += 1) {
    const value = answerFor(asObject(prefix[index]) ?? items, subject, { ...place, index: place.index + index, depth: place.depth + 1 });
    const repeated = unique && values.some((earlier) => JSON.stringify(earlier) === JSON.stringify(value));
    values.push(repeated && typeof value === 'string' ? `${value} (${index + 1})` : value);
  }
  return values;
}

function objectFor(schema: JsonObject, subject: Subject, place: Place): JsonObject {
  const properties = asObject(schema['properties']) ?? {};
  const required = new Set(asArray(schema['required']));
  const entries = Object.entries(properties)
    // Deep down only what must be there, so that a schema that contains itself comes to an end.
    .filter(([name]) => place.depth < 6 || required.has(name))
    .map(([name, part]): [string, unknown] => [name, answerFor(asObject(part) ?? {}, subject, { ...place, name, depth: place.depth + 1 })]);
  const missing = [...required].filter((name): name is string => typeof name === 'string' && !Object.hasOwn(properties, name));
  // `fromEntries` makes own properties even of names such as "__proto__".
  return Object.fromEntries([...entries, ...missing.map((name): [string, unknown] => [name, stringFor({}, subject, { ...place, name })])]);
}

function booleanFor(subject: Subject, place: Place): boolean {
  const named = wordsOf(place.name)
    .map(stem)
    .filter((word) => !['is', 'has', 'needs', 'need', 'should', 'can'].includes(word));
  return named.some((word) => (subject.stems.get(word) ?? 0) > 0) || affinity(place.name, subject.stems) > 0;
}

/** A value that satisfies the schema and says something about the prompt. The same prompt always gets the same answer. */
export function answerFor(schemaAtPlace: JsonObject, subject: Subject, place: Place): unknown {
  const schema = mergeAll(resolveRef(schemaAtPlace, place.root), place.root);
  if (place.depth > maxDepth) return null;
  if (Object.hasOwn(schema, 'const')) return schema['const'];
  const options = asArray(schema['enum']);
  if (options.length > 0) return choose(options, subject, place);
  const variants = [...asArray(schema['anyOf']), ...asArray(schema['oneOf'])].map((variant) =>
    resolveRef(asObject(variant) ?? {}, place.root),
  );
  if (variants.length > 0) {
    const { anyOf: _any, oneOf: _one, ...own } = schema;
    const nullable = variants.find((variant) => variant['type'] === 'null');
    // Deep down the empty choice ends a schema that contains itself.
    if (nullable !== undefined && place.depth > 6) return null;
    const useful = variants.filter((variant) => variant !== nullable);
    const scores = useful.map((variant) => affinity(JSON.stringify(variant['properties'] ?? variant['title'] ?? ''), subject.stems));
    const chosen = useful[scores.indexOf(Math.max(...scores))] ?? useful[0];
    return chosen === undefined ? null : answerFor({ ...own, ...chosen }, subject, { ...place, depth: place.depth + 1 });
  }
  switch (typeOf(schema)) {
    case 'object':
      return objectFor(schema, subject, place);
    case 'array':
      return arrayFor(schema, subject, place);
    case 'integer':
      return fitNumber(schema, Math.round(numberFor(subject, place)), true);
    case 'number':
      return fitNumber(schema, numberFor(subject, place), false);
    case 'boolean':
      return booleanFor(subject, place);
    case 'null':
      return null;
    default:
      return stringFor(schema, subject, place);
  }
}

export function answerSchema(schema: unknown, text: string): unknown {
  const root = asObject(schema) ?? {};
  return answerFor(root, subjectOf(text), { root, name: asString(root['title']) ?? '', index: 0, depth: 0 });
}

/** A plain answer: says who speaks, and repeats what the prompt was about. */
export function answerText(text: string): string {
  const subject = subjectOf(text);
  const gist = [...subject.sentences].slice(-3).join(' ').slice(0, 400);
  return `[dev model] ${gist === '' ? 'The prompt was empty.' : gist}`;
}
