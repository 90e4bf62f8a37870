import type { ASTNode } from '@marcbachmann/cel-js';
import { KilnError } from '../model/errors.ts';
import { arithmetic, negate, orderOf } from './cel-arithmetic.ts';
import { checkedList, checkTextLength, globalFunctions, methods } from './cel-functions.ts';
import { equals, failed, fromJson, inRange, isList, isMap, TypeName, typeNames, typeOf } from './cel-values.ts';
import type { CelList, CelValue, Fuel } from './cel-values.ts';
import { setOwn } from './json.ts';
import { nearestKey } from './nearest.ts';
import { holds } from './order.ts';

/** Names bound by macros, innermost first. */
interface Scope {
  readonly name: string;
  readonly value: CelValue;
  readonly outer: Scope | null;
}

export type Variables = Readonly<Record<string, CelValue>>;

export const macros = ['all', 'exists', 'exists_one', 'map', 'filter'] as const;
export type Macro = (typeof macros)[number];

export function macroOf(method: string): Macro | undefined {
  return macros.find((name) => name === method);
}

/** True for `cel.bind(name, value, expression)`. */
export function isBind(method: string, receiver: ASTNode): boolean {
  return method === 'bind' && receiver.op === 'id' && receiver.args === 'cel';
}

/**
 * Evaluates a parsed expression. Our own walk instead of the parser's evaluator: every step is paid for, only own properties
 * are read, values of JSON need no copy, ints and doubles mix, and nothing depends on the machine's clock or zone.
 */
export class Evaluation {
  readonly #variables: Variables;
  readonly #fuel: Fuel;
  /** Lists and maps that the expression made: their numbers already are ints or doubles. */
  readonly #made = new WeakSet<object>();

  constructor(variables: Variables, fuel: Fuel) {
    this.#variables = variables;
    this.#fuel = fuel;
  }

  run(node: ASTNode): CelValue {
    return this.#evaluate(node, null);
  }

  #evaluate(node: ASTNode, scope: Scope | null): CelValue {
    this.#fuel.spend(1);
    switch (node.op) {
      case 'value':
        return literal(node.args);
      case 'id':
        return this.#name(node.args, scope);
      case '.':
        return this.#member(this.#evaluate(node.args[0], scope), node.args[1], node.args[0]);
      case '[]':
        return this.#member(this.#evaluate(node.args[0], scope), this.#evaluate(node.args[1], scope), node.args[0]);
      case 'list':
        return this.#make(node.args.map((item) => this.#evaluate(item, scope)));
      case 'map':
        return this.#makeMap(node.args, scope);
      case '?:':
        return this.#evaluate(this.#truth(node.args[0], scope) ? node.args[1] : node.args[2], scope);
      case '||':
        return this.#logical(true, node.args, scope);
      case '&&':
        return this.#logical(false, node.args, scope);
      case '!_':
        return !this.#truth(node.args, scope);
      case '-_':
        return negate(this.#evaluate(node.args, scope));
      case 'call':
        return this.#call(node.args[0], node.args[1], scope);
      case 'rcall':
        return this.#method(node.args, scope);
      case '==':
      case '!=':
        return equals(this.#evaluate(node.args[0], scope), this.#evaluate(node.args[1], scope), this.#fuel) === (node.op === '==');
      case 'in':
        return this.#contains(this.#evaluate(node.args[1], scope), this.#evaluate(node.args[0], scope));
      case '<':
      case '<=':
      case '>':
      case '>=':
        return this.#compare(node.op, this.#evaluate(node.args[0], scope), this.#evaluate(node.args[1], scope));
      case '+':
        return this.#add(this.#evaluate(node.args[0], scope), this.#evaluate(node.args[1], scope));
      case '-':
      case '*':
      case '/':
      case '%':
        return arithmetic(node.op, this.#evaluate(node.args[0], scope), this.#evaluate(node.args[1], scope));
      case '.?':
      case '[?]':
        throw failed('optional access (.?) is not supported; use has(…)');
    }
  }

  #make(list: readonly CelValue[]): CelList {
    this.#made.add(list);
    return checkedList(list);
  }

  #makeMap(entries: readonly (readonly [ASTNode, ASTNode])[], scope: Scope | null): CelValue {
    const map: Record<string, CelValue> = {};
    for (const [keyNode, valueNode] of entries) {
      const key = this.#evaluate(keyNode, scope);
      if (typeof key !== 'string') {
        throw failed(`a key of a map is a string, not ${typeOf(key)}`);
      }
      setOwn(map, key, this.#evaluate(valueNode, scope));
    }
    this.#made.add(map);
    return map;
  }

  #name(name: string, scope: Scope | null): CelValue {
    for (let bound = scope; bound !== null; bound = bound.outer) {
      if (bound.name === name) {
        return bound.value;
      }
    }
    if (Object.hasOwn(this.#variables, name)) {
      return fromJson(this.#variables[name] ?? null);
    }
    if (typeNames.some((type) => type === name)) {
      return new TypeName(name);
    }
    throw failed(`there is no ${name} here`);
  }

  /** An item or own member, or undefined when there is none. */
  #lookUp(container: CelValue, key: CelValue): CelValue | undefined {
    if (typeof container !== 'object' || container === null) {
      return undefined;
    }
    let value: CelValue | undefined;
    if (isList(container)) {
      value = typeof key === 'bigint' || typeof key === 'number' ? container[Number(key)] : undefined;
    } else if (isMap(container)) {
      value = typeof key === 'string' && Object.hasOwn(container, key) ? container[key] : undefined;
    }
    return value === undefined || this.#made.has(container) ? value : fromJson(value);
  }

  #member(container: CelValue, key: CelValue, node: ASTNode): CelValue {
    const value = this.#lookUp(container, key);
    if (value !== undefined) {
      return value;
    }
    const source = sourceOf(node);
    if (isMap(container) && typeof key === 'string') {
      const nearest = nearestKey(Object.keys(container), key);
      throw failed(
        `${source} has no ${JSON.stringify(key)}${nearest === undefined ? '; it is empty' : `; the nearest is ${JSON.stringify(nearest)}`}`,
      );
    }
    if (isList(container)) {
      throw failed(`${source} is a list of ${container.length} items and has no ${shownKey(key)}`);
    }
    throw failed(`${source} is ${typeOf(container)} and has no ${shownKey(key)}`);
  }

  #truth(node: ASTNode, scope: Scope | null): boolean {
    const value = this.#evaluate(node, scope);
    if (typeof value !== 'boolean') {
      throw failed(`${sourceOf(node)} is ${typeOf(value)}, but true or false is needed`);
    }
    return value;
  }

  /** As CEL has it: if one side decides the outcome, an error on the other side does not matter. */
  #logical(decisive: boolean, [left, right]: readonly [ASTNode, ASTNode], scope: Scope | null): boolean {
    let failure: KilnError;
    try {
      return this.#truth(left, scope) === decisive ? decisive : this.#truth(right, scope);
    } catch (error) {
      if (!(error instanceof KilnError) || this.#fuel.exhausted) {
        throw error;
      }
      failure = error;
    }
    if (this.#truth(right, scope) === decisive) {
      return decisive;
    }
    throw failure;
  }

  #call(name: string, args: readonly ASTNode[], scope: Scope | null): CelValue {
    const [only] = args;
    if (name === 'has' && only !== undefined) {
      return this.#has(only, scope);
    }
    const handler = globalFunctions.get(name);
    if (handler === undefined) {
      throw failed(`there is no function ${name}(…)`);
    }
    return handler(
      args.map((argument) => this.#evaluate(argument, scope)),
      this.#fuel,
    );
  }

  /** Whether the whole path is there: `has(a.b.c)` is false, not an error, when `a.b` is missing. */
  #has(node: ASTNode, scope: Scope | null): boolean {
    return this.#find(node, scope) !== undefined;
  }

  #find(node: ASTNode, scope: Scope | null): CelValue | undefined {
    this.#fuel.spend(1);
    if (node.op !== '.' && node.op !== '[]') {
      return this.#evaluate(node, scope);
    }
    const container = this.#find(node.args[0], scope);
    if (container === undefined) {
      return undefined;
    }
    return this.#lookUp(container, node.op === '.' ? node.args[1] : this.#evaluate(node.args[1], scope));
  }

  #method([name, receiverNode, args]: readonly [string, ASTNode, readonly ASTNode[]], scope: Scope | null): CelValue {
    if (isBind(name, receiverNode)) {
      const [variable, value, body] = args;
      if (variable?.op !== 'id' || value === undefined || body === undefined) {
        throw failed('cel.bind takes a name, a value and an expression');
      }
      return this.#evaluate(body, { name: variable.args, value: this.#evaluate(value, scope), outer: scope });
    }
    const macro = macroOf(name);
    if (macro !== undefined) {
      return this.#comprehension(macro, this.#evaluate(receiverNode, scope), receiverNode, args, scope);
    }
    const handler = methods.get(name);
    if (handler === undefined) {
      throw failed(`there is no method .${name}(…)`);
    }
    const result = handler([this.#evaluate(receiverNode, scope), ...args.map((argument) => this.#evaluate(argument, scope))], this.#fuel);
    return isList(result) ? this.#make(result) : result;
  }

  #comprehension(macro: Macro, range: CelValue, rangeNode: ASTNode, args: readonly ASTNode[], scope: Scope | null): CelValue {
    const [variable, first, second] = args;
    if (variable?.op !== 'id' || first === undefined) {
      throw failed(`${macro} takes a name and an expression`);
    }
    const inner = (value: CelValue): Scope => ({ name: variable.args, value, outer: scope });
    const items = this.#range(range, rangeNode);
    switch (macro) {
      case 'all':
        return !this.#any(items, (item) => !this.#truth(first, inner(item)));
      case 'exists':
        return this.#any(items, (item) => this.#truth(first, inner(item)));
      case 'exists_one':
        return items.filter((item) => this.#truth(first, inner(item))).length === 1;
      case 'filter':
        return this.#make(items.filter((item) => this.#truth(first, inner(item))));
      case 'map': {
        const chosen = second === undefined ? items : items.filter((item) => this.#truth(first, inner(item)));
        return this.#make(chosen.map((item) => this.#evaluate(second ?? first, inner(item))));
      }
    }
  }

  /** One item that decides outweighs errors on others, as with `||`. */
  #any(items: readonly CelValue[], decides: (item: CelValue) => boolean): boolean {
    let failure: KilnError | undefined;
    for (const item of items) {
      try {
        if (decides(item)) {
          return true;
        }
      } catch (error) {
        if (!(error instanceof KilnError) || this.#fuel.exhausted) {
          throw error;
        }
        failure ??= error;
      }
    }
    if (failure !== undefined) {
      throw failure;
    }
    return false;
  }

  #range(range: CelValue, node: ASTNode): CelList {
    if (isList(range)) {
      return this.#items(range);
    }
    if (isMap(range)) {
      return this.#items(Object.keys(range));
    }
    throw failed(`${sourceOf(node)} is ${typeOf(range)}, but a list or map is needed`);
  }

  #items(list: CelList): CelList {
    this.#fuel.spend(list.length / 4);
    checkedList(list);
    return this.#made.has(list) ? list : list.map(fromJson);
  }

  #contains(container: CelValue, wanted: CelValue): boolean {
    if (isList(container)) {
      return container.some((item) => equals(item, wanted, this.#fuel));
    }
    if (isMap(container)) {
      return typeof wanted === 'string' && Object.hasOwn(container, wanted);
    }
    throw failed(`"in" needs a list or map on its right, not ${typeOf(container)}`);
  }

  #compare(operator: '<' | '<=' | '>' | '>=', left: CelValue, right: CelValue): boolean {
    if (typeof left === 'string' && typeof right === 'string') {
      this.#fuel.spend(Math.min(left.length, right.length) / 64);
    }
    return holds(orderOf(left, right), operator);
  }

  #add(left: CelValue, right: CelValue): CelValue {
    if (typeof left === 'string' && typeof right === 'string') {
      checkTextLength(left.length + right.length);
      this.#fuel.spend((left.length + right.length) / 64);
      return left + right;
    }
    if (isList(left) && isList(right)) {
      return this.#make([...this.#items(left), ...this.#items(right)]);
    }
    return arithmetic('+', left, right);
  }
}

function literal(value: unknown): CelValue {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'number':
      return value;
    case 'bigint':
      return inRange(value);
    default:
      if (value === null) {
        return null;
      }
      throw failed('bytes and unsigned numbers are not supported');
  }
}

function sourceOf(node: ASTNode): string {
  const source = node.input.slice(node.start, node.end);
  return source.length > 80 ? `${source.slice(0, 80)}…` : source;
}

function shownKey(key: CelValue): string {
  return typeof key === 'string' ? JSON.stringify(key) : typeof key === 'bigint' || typeof key === 'number' ? `[${key}]` : typeOf(key);
}
