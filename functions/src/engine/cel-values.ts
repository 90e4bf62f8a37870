import { KilnError } from '../model/errors.ts';
import type { Json } from './json.ts';

/** A point in time inside an expression, made by `timestamp(…)`. */
export class Timestamp {
  readonly ms: number;

  constructor(ms: number) {
    this.ms = ms;
  }
}

/** A length of time inside an expression, made by `duration(…)`. */
export class Duration {
  readonly ms: number;

  constructor(ms: number) {
    this.ms = ms;
  }
}

/** What `type(…)` yields, and what the names `int`, `string` … stand for. */
export class TypeName {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

export type CelList = readonly CelValue[];
export interface CelMap {
  readonly [key: string]: CelValue;
}

/**
 * A value inside an expression. An int is a bigint, a double a number. Values of JSON are not copied: their lists and objects
 * are used as they are, and a number in them becomes an int when it is a safe integer, at the moment it is read.
 */
export type CelValue = null | boolean | number | bigint | string | CelList | CelMap | Timestamp | Duration | TypeName;

export const typeNames = ['int', 'double', 'bool', 'string', 'list', 'map', 'null_type', 'type'] as const;

const INT_MAX = 2n ** 63n - 1n;
const INT_MIN = -(2n ** 63n);

/** A number that came from JSON: integers are ints, so that `amount == 1000` and `items[n]` mean what they say. */
export function fromJson(value: CelValue): CelValue {
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value;
}

export function isList(value: CelValue): value is CelList {
  return Array.isArray(value);
}

export function isMap(value: CelValue): value is CelMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isScalarObject(value);
}

function isScalarObject(value: object): boolean {
  return value instanceof Timestamp || value instanceof Duration || value instanceof TypeName;
}

export function typeOf(value: CelValue): string {
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'number':
      return 'double';
    case 'bigint':
      return 'int';
    case 'string':
      return 'string';
    default:
      break;
  }
  if (value === null) return 'null_type';
  if (isList(value)) return 'list';
  if (value instanceof Timestamp) return 'timestamp';
  if (value instanceof Duration) return 'duration';
  if (value instanceof TypeName) return 'type';
  return 'map';
}

export function failed(message: string): KilnError {
  return new KilnError('condition.failed', message);
}

export function inRange(value: bigint): bigint {
  if (value > INT_MAX || value < INT_MIN) {
    throw failed('a whole number is out of range (64 bit)');
  }
  return value;
}

/** Work that an expression may do, so that it ends in about half a second whatever it is given. */
export class Fuel {
  #left: number;

  constructor(amount: number) {
    this.#left = amount;
  }

  get exhausted(): boolean {
    return this.#left < 0;
  }

  spend(amount: number): void {
    this.#left -= amount;
    if (this.#left < 0) {
      throw failed('the expression does too much work; loop over fewer items, or not inside one another');
    }
  }
}

/** Equality across types: an int equals a double of the same value, values of different types are unequal. */
export function equals(a: CelValue, b: CelValue, fuel: Fuel): boolean {
  const pending: [CelValue, CelValue][] = [[a, b]];
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    fuel.spend(1);
    const [left, right] = pair;
    if (typeof left === 'string' && typeof right === 'string') {
      fuel.spend(left.length / 64);
    }
    if (left === right || sameScalar(left, right)) {
      continue;
    }
    if (isList(left) && isList(right)) {
      if (left.length !== right.length) return false;
      fuel.spend(left.length / 8);
      for (const [index, member] of left.entries()) {
        pending.push([member, right[index] ?? null]);
      }
    } else if (isMap(left) && isMap(right)) {
      const keys = Object.keys(left);
      fuel.spend(keys.length / 4);
      if (keys.length !== Object.keys(right).length || keys.some((key) => !Object.hasOwn(right, key))) return false;
      for (const key of keys) {
        pending.push([left[key] ?? null, right[key] ?? null]);
      }
    } else {
      return false;
    }
  }
  return true;
}

function sameScalar(a: CelValue, b: CelValue): boolean {
  if (typeof a === 'bigint' && typeof b === 'number') return sameNumber(a, b);
  if (typeof a === 'number' && typeof b === 'bigint') return sameNumber(b, a);
  if (a instanceof Timestamp) return b instanceof Timestamp && a.ms === b.ms;
  if (a instanceof Duration) return b instanceof Duration && a.ms === b.ms;
  if (a instanceof TypeName) return b instanceof TypeName && a.name === b.name;
  return false;
}

/** Exact: converting the int to a double would lose digits. */
function sameNumber(int: bigint, double: number): boolean {
  return Number.isInteger(double) && BigInt(double) === int;
}

/** The value as JSON: ints must be safe integers, a timestamp becomes ISO text, a duration its milliseconds. */
export function toJson(value: CelValue, fuel: Fuel): Json {
  fuel.spend(1);
  if (typeof value === 'bigint') {
    const number = Number(value);
    if (!Number.isSafeInteger(number)) {
      throw failed(`the whole number ${value} cannot be written as JSON without loss`);
    }
    return number;
  }
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) {
      throw failed(`the result ${value} cannot be written as JSON`);
    }
    return value;
  }
  if (value === null || typeof value !== 'object') return value;
  if (value instanceof Timestamp) return new Date(value.ms).toISOString();
  if (value instanceof Duration) return value.ms;
  if (value instanceof TypeName) return value.name;
  if (isList(value)) return value.map((member) => toJson(member, fuel));
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, toJson(member, fuel)]));
}
