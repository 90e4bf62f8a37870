import { KilnError, toErrorRecord } from '../model/errors.ts';
import { Duration, failed, inRange, isList, isMap, Timestamp, TypeName, typeOf } from './cel-values.ts';
import type { CelValue, Fuel } from './cel-values.ts';
import { parseDate, parseDuration } from './duration.ts';
import { compilePattern } from './pattern.ts';
import type { LinearPattern, PayForWork } from './pattern.ts';
import { isTimeZone, zoneOffsetMs } from './zone.ts';

/** The longest text, and the longest list, that an expression may build. */
export const CEL_TEXT_MAX = 1_000_000;
export const CEL_LIST_MAX = 100_000;

type Handler = (args: readonly CelValue[], fuel: Fuel) => CelValue;

function text(value: CelValue | undefined, name: string): string {
  if (typeof value !== 'string') {
    throw failed(`${name} needs a string, not ${typeOf(value ?? null)}`);
  }
  return value;
}

function integer(value: CelValue | undefined, name: string): number {
  if (typeof value !== 'bigint') {
    throw failed(`${name} needs an int, not ${typeOf(value ?? null)}`);
  }
  return Number(value);
}

/** A method of a text; its cost grows with the lengths of the texts. */
function onText(name: string, run: (receiver: string, args: readonly CelValue[]) => CelValue): Handler {
  return (args, fuel) => {
    const receiver = text(args[0], name);
    const argument = args[1];
    fuel.spend(5 + (receiver.length + (typeof argument === 'string' ? argument.length : 0)) / 32);
    return run(receiver, args);
  };
}

function position(receiver: string, value: CelValue | undefined, name: string): number {
  const index = integer(value, name);
  if (index < 0 || index > receiver.length) {
    throw failed(`${name}: position ${index} is outside the text of ${receiver.length} characters`);
  }
  return index;
}

const textMethods: Record<string, Handler> = {
  contains: onText('contains', (receiver, args) => receiver.includes(text(args[1], 'contains'))),
  startsWith: onText('startsWith', (receiver, args) => receiver.startsWith(text(args[1], 'startsWith'))),
  endsWith: onText('endsWith', (receiver, args) => receiver.endsWith(text(args[1], 'endsWith'))),
  lowerAscii: onText('lowerAscii', (receiver) => receiver.replaceAll(/[A-Z]+/g, (part) => part.toLowerCase())),
  upperAscii: onText('upperAscii', (receiver) => receiver.replaceAll(/[a-z]+/g, (part) => part.toUpperCase())),
  trim: onText('trim', (receiver) => receiver.trim()),
  indexOf: onText('indexOf', (receiver, args) =>
    BigInt(receiver.indexOf(text(args[1], 'indexOf'), args.length > 2 ? position(receiver, args[2], 'indexOf') : 0)),
  ),
  lastIndexOf: onText('lastIndexOf', (receiver, args) =>
    BigInt(
      receiver.lastIndexOf(text(args[1], 'lastIndexOf'), args.length > 2 ? position(receiver, args[2], 'lastIndexOf') : receiver.length),
    ),
  ),
  substring: onText('substring', (receiver, args) => {
    const start = position(receiver, args[1], 'substring');
    const end = args.length > 2 ? position(receiver, args[2], 'substring') : receiver.length;
    if (end < start) {
      throw failed('substring: the end is before the start');
    }
    return receiver.slice(start, end);
  }),
  split: (args, fuel) => {
    const receiver = text(args[0], 'split');
    const limit = args.length > 2 ? integer(args[2], 'split') : -1;
    const parts = limit === 0 ? [] : receiver.split(text(args[1], 'split'));
    fuel.spend(parts.length + receiver.length / 32);
    return checkedList(
      limit > 0 && parts.length > limit ? [...parts.slice(0, limit - 1), parts.slice(limit - 1).join(text(args[1], 'split'))] : parts,
    );
  },
  matches: (args, fuel) => {
    const receiver = text(args[0], 'matches');
    const source = text(args[1], 'matches');
    const pay = (amount: number): void => {
      fuel.spend(amount);
    };
    return patternFrom(source, pay).test(receiver, pay);
  },
};

function patternFrom(source: string, pay: PayForWork): LinearPattern {
  try {
    return compilePattern(source, pay);
  } catch (error) {
    throw error instanceof KilnError ? error : failed(error instanceof Error ? error.message : String(error));
  }
}

/** Called before a text is built, so that it never is. */
export function checkTextLength(length: number): void {
  if (length > CEL_TEXT_MAX) {
    throw failed(`a text that an expression builds has at most ${CEL_TEXT_MAX} characters`);
  }
}

export function checkedList(value: readonly CelValue[]): readonly CelValue[] {
  if (value.length > CEL_LIST_MAX) {
    throw failed(`an expression handles lists of at most ${CEL_LIST_MAX} items`);
  }
  return value;
}

function join(args: readonly CelValue[], fuel: Fuel): CelValue {
  const [list = null] = args;
  if (!isList(list)) {
    throw failed(`join needs a list, not ${typeOf(list)}`);
  }
  const separator = args.length > 1 ? text(args[1], 'join') : '';
  let length = 0;
  const parts = list.map((part) => {
    const piece = text(part, 'join');
    length += piece.length + separator.length;
    return piece;
  });
  fuel.spend(list.length + length / 32);
  checkTextLength(length);
  return parts.join(separator);
}

function size([value = null]: readonly CelValue[], fuel: Fuel): CelValue {
  if (typeof value === 'string') {
    fuel.spend(value.length / 32);
    return BigInt(Array.from(value).length);
  }
  if (isList(value)) return BigInt(value.length);
  if (isMap(value)) {
    const { length } = Object.keys(value);
    fuel.spend(length / 8);
    return BigInt(length);
  }
  throw failed(`size needs a string, list or map, not ${typeOf(value)}`);
}

function toInt([value = null]: readonly CelValue[]): CelValue {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return inRange(BigInt(Math.trunc(value)));
  if (typeof value === 'string' && /^[+-]?\d{1,19}$/.test(value)) return inRange(BigInt(value.replace('+', '')));
  if (value instanceof Timestamp) return BigInt(Math.floor(value.ms / 1_000));
  throw failed(`int(…) cannot convert ${shown(value)}`);
}

function toDouble([value = null]: readonly CelValue[]): CelValue {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'string' && /^[+-]?(?:\d{1,400}\.?\d{0,400}|\.\d{1,400})(?:[eE][+-]?\d{1,4})?$/.test(value)) return Number(value);
  throw failed(`double(…) cannot convert ${shown(value)}`);
}

function toText([value = null]: readonly CelValue[]): CelValue {
  switch (typeof value) {
    case 'string':
      return value;
    case 'bigint':
    case 'number':
    case 'boolean':
      return String(value);
    default:
      break;
  }
  if (value instanceof Timestamp) return new Date(value.ms).toISOString();
  if (value instanceof Duration) return `${value.ms / 1_000}s`;
  throw failed(`string(…) cannot convert ${typeOf(value)}`);
}

function toBool([value = null]: readonly CelValue[]): CelValue {
  if (typeof value === 'boolean') return value;
  if (value === 'true') return true;
  if (value === 'false') return false;
  throw failed(`bool(…) cannot convert ${shown(value)}`);
}

function shown(value: CelValue): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : typeOf(value);
}

function toTimestamp([value = null]: readonly CelValue[]): CelValue {
  if (typeof value === 'bigint') {
    const ms = Number(value) * 1_000;
    if (Math.abs(ms) > 8.64e15) {
      throw failed('timestamp(…) of an int takes seconds since 1970');
    }
    return new Timestamp(ms);
  }
  if (value instanceof Timestamp) return value;
  return new Timestamp(converted(() => parseDate(value, 'timestamp(…)')));
}

function toDuration([value = null]: readonly CelValue[]): CelValue {
  if (value instanceof Duration) return value;
  return new Duration(converted(() => parseDuration(text(value, 'duration'), 'duration(…)')));
}

function converted(convert: () => number): number {
  try {
    return convert();
  } catch (error) {
    throw failed(toErrorRecord(error).message);
  }
}

export const globalFunctions: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ['size', size],
  ['int', toInt],
  ['double', toDouble],
  ['string', toText],
  ['bool', toBool],
  ['timestamp', toTimestamp],
  ['duration', toDuration],
  ['dyn', ([value = null]) => value],
  ['type', ([value = null]) => new TypeName(typeOf(value))],
]);

const dayMs = 86_400_000;

/** Fields of a wall clock, each read from a time that was shifted to its zone. */
const clockFields: Readonly<Record<string, (wall: Date) => number>> = {
  getFullYear: (wall) => wall.getUTCFullYear(),
  getMonth: (wall) => wall.getUTCMonth(),
  getDate: (wall) => wall.getUTCDate(),
  getDayOfMonth: (wall) => wall.getUTCDate() - 1,
  getDayOfWeek: (wall) => wall.getUTCDay(),
  getDayOfYear: (wall) => Math.floor((wall.getTime() - Date.UTC(wall.getUTCFullYear(), 0, 1)) / dayMs),
  getHours: (wall) => wall.getUTCHours(),
  getMinutes: (wall) => wall.getUTCMinutes(),
  getSeconds: (wall) => wall.getUTCSeconds(),
  getMilliseconds: (wall) => wall.getUTCMilliseconds(),
};

const spanFields: Readonly<Record<string, number>> = { getHours: 3_600_000, getMinutes: 60_000, getSeconds: 1_000, getMilliseconds: 1 };

function clockMethod(name: string, read: (wall: Date) => number): Handler {
  return ([receiver = null, zone], fuel) => {
    if (receiver instanceof Timestamp) {
      fuel.spend(zone === undefined ? 2 : 200);
      return BigInt(read(new Date(receiver.ms + (zone === undefined ? 0 : offsetIn(receiver.ms, text(zone, name))))));
    }
    const unit = spanFields[name];
    if (receiver instanceof Duration && unit !== undefined) {
      return BigInt(Math.trunc(receiver.ms / unit));
    }
    throw failed(`${name} needs a timestamp or duration, not ${typeOf(receiver)}`);
  };
}

function offsetIn(ms: number, timeZone: string): number {
  if (!isTimeZone(timeZone)) {
    throw failed(`${JSON.stringify(timeZone.slice(0, 40))} is not a time zone; write a name such as "Europe/Berlin"`);
  }
  return zoneOffsetMs(ms, timeZone);
}

export const methods: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ...Object.entries(textMethods),
  ['size', size],
  ['join', join],
  ...Object.entries(clockFields).map(([name, read]): [string, Handler] => [name, clockMethod(name, read)]),
]);
