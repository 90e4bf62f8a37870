import { canonicalJson } from './json.ts';
import type { Json } from './json.ts';
import type { PayForWork } from './pattern.ts';
import type { CompiledSchema } from './schema-compiled.ts';
import { hasFormat } from './schema-formats.ts';
import type { SchemaObject } from './schema-shape.ts';
import { fail } from './schema-target.ts';
import type { JsonObject, Target } from './schema-target.ts';

/** The keywords that look at the value as a whole: type, enum, const, numbers, texts and lengths. */
export function checkAssertions(schema: CompiledSchema, target: Target): boolean {
  const { value, place, sink } = target;
  const { types } = schema;
  if (types.length > 0 && !types.some((name) => isOfType(value, name))) {
    return fail(sink, place, `must be of type ${types.join(' or ')}, not ${nameOf(value)}`);
  }
  let matches = checkValues(schema, target);
  if (typeof value === 'number') {
    matches = (!schema.checksNumbers || checkNumber(schema.source, value, target)) && matches;
  } else if (typeof value === 'string') {
    matches = checkText(schema, value, target) && matches;
  } else if (Array.isArray(value)) {
    matches = checkLength(schema.source, value.length, ['minItems', 'maxItems'], 'items', target) && matches;
  }
  return matches;
}

function isOfType(value: Json, type: string): boolean {
  switch (type) {
    case 'integer':
      return Number.isInteger(value);
    case 'number':
    case 'string':
    case 'boolean':
      return typeof value === type;
    default:
      return nameOf(value) === type;
  }
}

function nameOf(value: Json): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
}

function checkValues({ source, options }: CompiledSchema, { value, place, sink, spend }: Target): boolean {
  let matches = true;
  const constant = source['const'];
  if (constant !== undefined && !same(value, constant, spend)) {
    matches = fail(sink, place, `must be ${shown(constant)}`);
  }
  if (options !== null && !options.scalars.has(value) && !options.containers.some((option) => same(value, option, spend))) {
    matches = fail(sink, place, `must be one of ${shown(source['enum'] ?? [])}`);
  }
  return matches;
}

function same(a: Json, b: Json, spend: PayForWork): boolean {
  spend(1);
  if (typeof a !== 'object' || a === null || typeof b !== 'object' || b === null) {
    return a === b;
  }
  return Array.isArray(a) === Array.isArray(b) && textOf(a, spend) === textOf(b, spend);
}

/** Canonical text: equal for equal values. */
export function textOf(value: Json, spend: PayForWork): string {
  const text = canonicalJson(value);
  spend(2 + text.length / 8);
  return text;
}

function shown(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

function checkNumber(schema: SchemaObject, value: number, { place, sink, spend }: Target): boolean {
  let matches = true;
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (typeof minimum === 'number' && value < minimum) {
    matches = fail(sink, place, `must be at least ${minimum}, not ${value}`);
  }
  if (typeof maximum === 'number' && value > maximum) {
    matches = fail(sink, place, `must be at most ${maximum}, not ${value}`);
  }
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) {
    matches = fail(sink, place, `must be more than ${exclusiveMinimum}, not ${value}`);
  }
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) {
    matches = fail(sink, place, `must be less than ${exclusiveMaximum}, not ${value}`);
  }
  if (typeof multipleOf === 'number' && !isMultipleOf(value, multipleOf, spend)) {
    matches = fail(sink, place, `must be a multiple of ${multipleOf}, not ${value}`);
  }
  return matches;
}

/** In decimal, as it is written: 0.3 is a multiple of 0.1, which binary fractions deny. */
function isMultipleOf(value: number, divisor: number, spend: PayForWork): boolean {
  const [digits, exponent] = decimal(value);
  const [divisorDigits, divisorExponent] = decimal(divisor);
  const shift = exponent - divisorExponent;
  spend(1 + Math.abs(shift) / 8);
  return shift >= 0 ? (digits * 10n ** BigInt(shift)) % divisorDigits === 0n : digits % (divisorDigits * 10n ** BigInt(-shift)) === 0n;
}

function decimal(value: number): [bigint, number] {
  const [coefficient = '0', exponent = '0'] = Math.abs(value).toString().split('e');
  const [whole = '0', fraction = ''] = coefficient.split('.');
  return [BigInt(whole + fraction), Number(exponent) - fraction.length];
}

function checkText({ source, pattern, format, checksLength }: CompiledSchema, value: string, target: Target): boolean {
  const { place, sink, spend } = target;
  let matches = true;
  if (checksLength) {
    spend(value.length / 32);
    matches = checkLength(source, characters(value), ['minLength', 'maxLength'], 'characters', target);
  }
  if (pattern !== null && !pattern.test(value, spend)) {
    matches = fail(sink, place, `must match the pattern ${shown(source['pattern'] ?? '')}`);
  }
  if (format !== null && !hasFormat(value, format)) {
    matches = fail(sink, place, `must be a valid ${format}`);
  }
  return matches;
}

/** Code points, as JSON Schema counts; without a list of them. */
function characters(text: string): number {
  let count = text.length;
  for (let index = 1; index < text.length; index += 1) {
    const isPair = (text.charCodeAt(index) & 0xfc00) === 0xdc00 && (text.charCodeAt(index - 1) & 0xfc00) === 0xd800;
    count -= isPair ? 1 : 0;
  }
  return count;
}

function checkLength(
  source: SchemaObject,
  count: number,
  keywords: readonly [string, string],
  unit: string,
  { place, sink }: Target,
): boolean {
  const [least, most] = [source[keywords[0]], source[keywords[1]]];
  if (typeof least === 'number' && count < least) {
    return fail(sink, place, `has ${count} ${unit}, at least ${least} are needed`);
  }
  if (typeof most === 'number' && count > most) {
    return fail(sink, place, `has ${count} ${unit}, at most ${most} are allowed`);
  }
  return true;
}

/** Which properties an object must have, and how many. */
export function checkKeys({ source, object: rules }: CompiledSchema, object: JsonObject, count: number, target: Target): boolean {
  const { place, sink } = target;
  let matches = true;
  for (const key of rules?.required ?? []) {
    if (!Object.hasOwn(object, key)) {
      matches = fail(sink, place, `needs the property ${JSON.stringify(key)}`);
    }
  }
  for (const [key, needed] of rules?.dependentRequired ?? []) {
    const missing = Object.hasOwn(object, key) ? needed.filter((other) => !Object.hasOwn(object, other)) : [];
    for (const other of missing) {
      matches = fail(sink, place, `needs the property ${JSON.stringify(other)}, because it has ${JSON.stringify(key)}`);
    }
  }
  return checkLength(source, count, ['minProperties', 'maxProperties'], 'properties', target) && matches;
}
