import { Duration, failed, inRange, Timestamp, typeOf } from './cel-values.ts';
import type { CelValue } from './cel-values.ts';

export function negate(value: CelValue): CelValue {
  if (typeof value === 'bigint') return inRange(-value);
  if (typeof value === 'number') return -value;
  throw failed(`- needs a number, not ${typeOf(value)}`);
}

/** Negative, zero or positive; NaN compares false with everything. */
export function orderOf(left: CelValue, right: CelValue): number {
  if (isNumber(left) && isNumber(right)) {
    // JavaScript compares an int with a double exactly.
    return left < right ? -1 : left > right ? 1 : left >= right ? 0 : Number.NaN;
  }
  if (typeof left === 'string' && typeof right === 'string') {
    return left < right ? -1 : left > right ? 1 : 0;
  }
  if (typeof left === 'boolean' && typeof right === 'boolean') {
    return Number(left) - Number(right);
  }
  if ((left instanceof Timestamp && right instanceof Timestamp) || (left instanceof Duration && right instanceof Duration)) {
    return left.ms - right.ms;
  }
  throw failed(`${typeOf(left)} and ${typeOf(right)} cannot be compared`);
}

function isNumber(value: CelValue): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

export function arithmetic(operator: '+' | '-' | '*' | '/' | '%', left: CelValue, right: CelValue): CelValue {
  if (typeof left === 'bigint' && typeof right === 'bigint') {
    return integerArithmetic(operator, left, right);
  }
  if (isNumber(left) && isNumber(right) && operator !== '%') {
    return doubleArithmetic(operator, Number(left), Number(right));
  }
  const moved = timeArithmetic(operator, left, right);
  if (moved === undefined) {
    throw failed(`${typeOf(left)} ${operator} ${typeOf(right)} is not defined`);
  }
  return moved;
}

function integerArithmetic(operator: '+' | '-' | '*' | '/' | '%', left: bigint, right: bigint): bigint {
  switch (operator) {
    case '+':
      return inRange(left + right);
    case '-':
      return inRange(left - right);
    case '*':
      return inRange(left * right);
    case '/':
    case '%':
      if (right === 0n) {
        throw failed('division by zero');
      }
      return inRange(operator === '/' ? left / right : left % right);
  }
}

function doubleArithmetic(operator: '+' | '-' | '*' | '/', left: number, right: number): number {
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return left / right;
  }
}

function timeArithmetic(operator: string, left: CelValue, right: CelValue): CelValue | undefined {
  const sign = operator === '+' ? 1 : operator === '-' ? -1 : undefined;
  if (sign === undefined) return undefined;
  if (left instanceof Timestamp && right instanceof Duration) return timestampAt(left.ms + sign * right.ms);
  if (left instanceof Duration && right instanceof Timestamp && sign === 1) return timestampAt(left.ms + right.ms);
  if (left instanceof Duration && right instanceof Duration) return new Duration(left.ms + sign * right.ms);
  if (left instanceof Timestamp && right instanceof Timestamp && sign === -1) return new Duration(left.ms - right.ms);
  return undefined;
}

function timestampAt(ms: number): Timestamp {
  if (Math.abs(ms) > 8.64e15) {
    throw failed('the timestamp is out of range');
  }
  return new Timestamp(ms);
}
