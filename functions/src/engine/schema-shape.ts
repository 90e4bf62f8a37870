import { compilePattern } from './pattern.ts';
import { pointer } from './json.ts';
import type { Json } from './json.ts';
import type { Problem } from './problem.ts';

export type SchemaObject = { readonly [keyword: string]: Json };
export type Schema = boolean | SchemaObject;

const NODES_MAX = 10_000;
const DEPTH_MAX = 100;
const PROBLEMS_MAX = 50;

const types: ReadonlySet<unknown> = new Set(['null', 'boolean', 'integer', 'number', 'string', 'array', 'object']);

/** Keywords whose schemas are applied to the value itself, not to a part of it. */
const inPlaceKeywords: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentSchemas']);
const schemaKeywords: ReadonlySet<string> = new Set([
  'items',
  'contains',
  'additionalProperties',
  'unevaluatedProperties',
  'unevaluatedItems',
  'propertyNames',
  'not',
  'if',
  'then',
  'else',
]);
const listKeywords: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const mapKeywords: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions']);
const countKeywords: ReadonlySet<string> = new Set([
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minContains',
  'maxContains',
  'minProperties',
  'maxProperties',
]);
const numberKeywords: ReadonlySet<string> = new Set(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']);
const unsupportedKeywords: ReadonlyMap<string, string> = new Map([
  ['$dynamicRef', '$dynamicRef is not supported; use $ref'],
  ['$recursiveRef', '$recursiveRef is not supported; use $ref'],
  ['additionalItems', 'additionalItems is of an older draft; use prefixItems and items'],
  ['dependencies', 'dependencies is of an older draft; use dependentRequired or dependentSchemas'],
]);

interface Node {
  readonly schema: Json;
  readonly path: readonly (string | number)[];
}

/** What a schema’s references lead to, and whether it needs to know what was evaluated. */
export interface SchemaShape {
  readonly references: ReadonlyMap<string, Schema>;
  readonly tracksEvaluation: boolean;
  readonly problems: readonly Problem[];
}

/** Walks a schema once: finds what is wrong with it and where its references lead. Iterative, because schemas come from users. */
export function shapeOf(root: Json): SchemaShape {
  return new ShapeReader(root).read();
}

export function isSchemaObject(value: Json | Schema | undefined): value is { [keyword: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

class ShapeReader {
  readonly #root: Json;
  readonly #problems: Problem[] = [];
  readonly #pending: Node[] = [];
  readonly #anchors = new Map<string, Schema>();
  readonly #references = new Map<string, readonly (string | number)[]>();
  /** From a schema to those that are applied to the same value. */
  readonly #inPlace = new Map<object, (Json | Schema)[]>();
  #tracksEvaluation = false;

  constructor(root: Json) {
    this.#root = root;
  }

  read(): SchemaShape {
    this.#pending.push({ schema: this.#root, path: [] });
    let nodes = 0;
    for (let node = this.#pending.pop(); node !== undefined; node = this.#pending.pop()) {
      nodes += 1;
      if (nodes > NODES_MAX || node.path.length > 2 * DEPTH_MAX) {
        this.#report(
          node.path.slice(0, 8),
          nodes > NODES_MAX ? `the schema has more than ${NODES_MAX} parts` : 'the schema is nested too deeply',
        );
        break;
      }
      this.#visit(node);
    }
    const references = this.#resolveAll();
    if (this.#problems.length === 0 && this.#refersToItself(references)) {
      this.#report([], 'the schema refers to itself without ever going into a part of the value');
    }
    return { references, tracksEvaluation: this.#tracksEvaluation, problems: this.#problems };
  }

  #report(path: readonly (string | number)[], message: string): void {
    if (this.#problems.length < PROBLEMS_MAX) {
      this.#problems.push({ path: pointer(path), code: 'schema.invalid', message });
    }
  }

  #visit({ schema, path }: Node): void {
    if (typeof schema === 'boolean') {
      return;
    }
    if (!isSchemaObject(schema)) {
      this.#report(path, 'a schema is an object, true or false');
      return;
    }
    for (const keyword of Object.keys(schema)) {
      this.#keyword(schema, keyword, schema[keyword] ?? null, [...path, keyword]);
    }
  }

  #keyword(schema: SchemaObject, keyword: string, value: Json, path: readonly (string | number)[]): void {
    if (keyword === 'unevaluatedProperties' || keyword === 'unevaluatedItems') {
      this.#tracksEvaluation = true;
    }
    if (keyword === 'items' && Array.isArray(value)) {
      this.#report(path, 'a list in items is of an older draft; use prefixItems');
    } else if (schemaKeywords.has(keyword)) {
      this.#child(schema, keyword, value, path);
    } else if (listKeywords.has(keyword)) {
      this.#list(schema, keyword, value, path);
    } else if (mapKeywords.has(keyword)) {
      this.#map(schema, keyword, value, path);
    } else if (unsupportedKeywords.has(keyword)) {
      this.#report(path, unsupportedKeywords.get(keyword) ?? '');
    } else if (keyword.startsWith('$')) {
      this.#core(schema, keyword, value, path);
    } else {
      const fault = faultOf(keyword, value);
      if (fault !== undefined) {
        this.#report(path, fault);
      }
    }
  }

  #child(parent: SchemaObject, keyword: string, schema: Json, path: readonly (string | number)[]): void {
    if (inPlaceKeywords.has(keyword)) {
      this.#link(parent, schema);
    }
    this.#pending.push({ schema, path });
  }

  #link(from: SchemaObject, to: Json | Schema): void {
    const targets = this.#inPlace.get(from) ?? [];
    targets.push(to);
    this.#inPlace.set(from, targets);
  }

  #list(parent: SchemaObject, keyword: string, value: Json, path: readonly (string | number)[]): void {
    if (!Array.isArray(value) || value.length === 0) {
      this.#report(path, `${keyword} is a list of at least one schema`);
      return;
    }
    for (const [index, schema] of value.entries()) {
      this.#child(parent, keyword, schema, [...path, index]);
    }
  }

  #map(parent: SchemaObject, keyword: string, value: Json, path: readonly (string | number)[]): void {
    if (!isSchemaObject(value)) {
      this.#report(path, `${keyword} is an object of schemas`);
      return;
    }
    for (const [key, schema] of Object.entries(value)) {
      if (keyword === 'patternProperties') {
        this.#pattern(key, [...path, key]);
      }
      this.#child(parent, keyword, schema, [...path, key]);
    }
  }

  #pattern(pattern: string, path: readonly (string | number)[]): void {
    const fault = patternFault(pattern);
    if (fault !== undefined) {
      this.#report(path, fault);
    }
  }

  #core(schema: SchemaObject, keyword: string, value: Json, path: readonly (string | number)[]): void {
    if (keyword === '$id' && path.length > 1) {
      this.#report(path, '$id is supported at the top only; use $anchor');
    } else if (keyword === '$anchor' && typeof value === 'string') {
      this.#anchors.set(value, schema);
    } else if (keyword === '$ref') {
      if (typeof value === 'string') {
        this.#references.set(value, path);
      } else {
        this.#report(path, '$ref is a text');
      }
    }
  }

  #resolveAll(): Map<string, Schema> {
    const resolved = new Map<string, Schema>();
    for (const [reference, path] of this.#references) {
      const schema = this.#resolve(reference);
      if (typeof schema === 'boolean' || isSchemaObject(schema)) {
        resolved.set(reference, schema);
      } else {
        this.#report(path, `${JSON.stringify(reference.slice(0, 200))} leads nowhere; a $ref points into this schema: "#/$defs/name"`);
      }
    }
    return resolved;
  }

  #resolve(reference: string): Json | undefined {
    const id = isSchemaObject(this.#root) ? this.#root['$id'] : undefined;
    const local = typeof id === 'string' && id !== '' && reference.startsWith(id) ? reference.slice(id.length) : reference;
    if (local === '' || local === '#') {
      return this.#root;
    }
    const fragment = local.startsWith('#') ? decoded(local.slice(1)) : undefined;
    if (fragment === undefined) {
      return undefined;
    }
    return fragment.startsWith('/') ? atPointer(this.#root, fragment) : this.#anchors.get(fragment);
  }

  /** A cycle of in-place schemas would be applied to one and the same value for ever. */
  #refersToItself(references: ReadonlyMap<string, Schema>): boolean {
    const done = new Set<object>();
    const onPath = new Set<object>();
    for (const start of this.#allWithEdges(references)) {
      const stack: { readonly schema: object; readonly next: Iterator<Json | Schema> }[] = [];
      const enter = (schema: object): void => {
        onPath.add(schema);
        stack.push({ schema, next: (this.#inPlace.get(schema) ?? []).values() });
      };
      if (!done.has(start)) {
        enter(start);
      }
      for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
        const { value, done: ended } = frame.next.next();
        if (ended === true) {
          onPath.delete(frame.schema);
          done.add(frame.schema);
          stack.pop();
        } else if (isSchemaObject(value) && onPath.has(value)) {
          return true;
        } else if (isSchemaObject(value) && !done.has(value)) {
          enter(value);
        }
      }
    }
    return false;
  }

  #allWithEdges(references: ReadonlyMap<string, Schema>): object[] {
    const pending: Json[] = [this.#root];
    const seen = new Set<object>();
    for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
      if (typeof value !== 'object' || value === null || seen.has(value)) {
        continue;
      }
      seen.add(value);
      const target = isSchemaObject(value) && typeof value['$ref'] === 'string' ? references.get(value['$ref']) : undefined;
      if (isSchemaObject(value) && target !== undefined) {
        this.#link(value, target);
      }
      pending.push(...(Array.isArray(value) ? value : Object.values(value)));
    }
    return [...this.#inPlace.keys()];
  }
}

function faultOf(keyword: string, value: Json): string | undefined {
  if (countKeywords.has(keyword)) {
    return Number.isSafeInteger(value) && Number(value) >= 0 ? undefined : `${keyword} is a whole number from 0`;
  }
  if (numberKeywords.has(keyword)) {
    const valid = typeof value === 'number' && Number.isFinite(value) && (keyword !== 'multipleOf' || value > 0);
    return valid ? undefined : `${keyword} is a ${keyword === 'multipleOf' ? 'positive ' : ''}number`;
  }
  switch (keyword) {
    case 'type': {
      const listed = Array.isArray(value) ? value : [value];
      return listed.length > 0 && listed.every((type) => types.has(type)) ? undefined : `type is one or more of ${[...types].join(', ')}`;
    }
    case 'enum':
      return Array.isArray(value) ? undefined : 'enum is a list of values';
    case 'required':
      return isTexts(value) ? undefined : 'required is a list of property names';
    case 'dependentRequired':
      return isSchemaObject(value) && Object.values(value).every(isTexts)
        ? undefined
        : 'dependentRequired is an object of lists of property names';
    case 'uniqueItems':
      return typeof value === 'boolean' ? undefined : 'uniqueItems is true or false';
    case 'format':
      return typeof value === 'string' ? undefined : 'format is a text';
    case 'pattern':
      return typeof value === 'string' ? patternFault(value) : 'pattern is a text';
    default:
      return undefined;
  }
}

function isTexts(value: Json): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function patternFault(pattern: string): string | undefined {
  try {
    compilePattern(pattern);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function decoded(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}

function atPointer(root: Json, text: string): Json | undefined {
  let current: Json | undefined = root;
  for (const part of text.slice(1).split('/')) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) {
      return undefined;
    }
    current = (current as Record<string, Json>)[key];
  }
  return current;
}
