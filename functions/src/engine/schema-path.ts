import type { Json } from './json.ts';
import { nearestKey } from './nearest.ts';
import type { PathSegment } from './template-syntax.ts';

/** Schemas looked at for one path: alternatives and references can multiply. */
const SCHEMAS_MAX = 1_000;

interface Walk {
  readonly root: Json;
  left: number;
}

/** Why the path leads nowhere in every value that fits the schema, in words; undefined when it may lead somewhere. */
export function impossiblePath(schema: Json, path: readonly PathSegment[]): string | undefined {
  return refuted(schema, path, { root: schema, left: SCHEMAS_MAX });
}

function refuted(schema: Json, path: readonly PathSegment[], walk: Walk): string | undefined {
  const [segment, ...rest] = path;
  walk.left -= 1;
  if (segment === undefined || walk.left < 0 || !isObject(schema)) return undefined;
  return (
    refutedByType(schema, segment) ??
    refutedByReference(schema, path, walk) ??
    refutedByAlternatives(schema, path, walk) ??
    (typeof segment === 'number' ? refutedByItems(schema, segment, rest, walk) : refutedByProperties(schema, segment, rest, walk))
  );
}

function refutedByType(schema: SchemaObject, segment: PathSegment): string | undefined {
  const declared = own(schema, 'type');
  const types = typeof declared === 'string' ? [declared] : Array.isArray(declared) ? declared : undefined;
  const wanted = typeof segment === 'number' ? 'array' : 'object';
  if (types === undefined || types.includes(wanted)) return undefined;
  const found = types.map((type) => JSON.stringify(type)).join(' or ');
  return `${shown(segment)} is asked of a value that the schema declares as ${found}`;
}

/** `$ref` within the same schema; any other is not followed. */
function refutedByReference(schema: SchemaObject, path: readonly PathSegment[], walk: Walk): string | undefined {
  const reference = own(schema, '$ref');
  if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined;
  let target: Json | undefined = walk.root;
  for (const part of reference.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    target = typeof target === 'object' && target !== null && Object.hasOwn(target, key) ? (target as SchemaObject)[key] : undefined;
  }
  return target === undefined ? undefined : refuted(target, path, walk);
}

function refutedByAlternatives(schema: SchemaObject, path: readonly PathSegment[], walk: Walk): string | undefined {
  const all = own(schema, 'allOf');
  for (const part of Array.isArray(all) ? all : []) {
    const reason = refuted(part, path, walk);
    if (reason !== undefined) return reason;
  }
  for (const keyword of ['anyOf', 'oneOf']) {
    const alternatives = own(schema, keyword);
    if (!Array.isArray(alternatives) || alternatives.length === 0) continue;
    const reasons = alternatives.map((alternative) => refuted(alternative, path, walk));
    if (reasons.every((reason) => reason !== undefined)) return reasons[0];
  }
  return undefined;
}

function refutedByProperties(schema: SchemaObject, key: string, rest: readonly PathSegment[], walk: Walk): string | undefined {
  const properties = own(schema, 'properties');
  const known = isObject(properties) ? properties : {};
  const member = own(known, key);
  if (member !== undefined) return member === false ? `${shown(key)} is forbidden by the schema` : refuted(member, rest, walk);
  if (own(schema, 'patternProperties') !== undefined) return undefined;
  const additional = own(schema, 'additionalProperties');
  if (additional === undefined) return undefined;
  if (additional !== false) return refuted(additional, rest, walk);
  const nearest = nearestKey(Object.keys(known), key);
  return nearest === undefined
    ? `the schema allows no ${shown(key)} there: it declares no properties`
    : `the schema allows no ${shown(key)} there; the nearest is ${shown(nearest)}`;
}

function refutedByItems(schema: SchemaObject, position: number, rest: readonly PathSegment[], walk: Walk): string | undefined {
  const items = own(schema, 'items');
  const prefix = own(schema, 'prefixItems') ?? (Array.isArray(items) ? items : undefined);
  const positional = Array.isArray(prefix) ? prefix[position] : undefined;
  if (positional !== undefined) return refuted(positional, rest, walk);
  const others = Array.isArray(items) ? own(schema, 'additionalItems') : items;
  if (others === false) return `the schema allows no position ${shown(position)} there`;
  return others === undefined ? undefined : refuted(others, rest, walk);
}

interface SchemaObject {
  readonly [keyword: string]: Json;
}

function isObject(value: Json | undefined): value is { [keyword: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function own(schema: SchemaObject, keyword: string): Json | undefined {
  return Object.hasOwn(schema, keyword) ? schema[keyword] : undefined;
}

function shown(segment: PathSegment): string {
  return typeof segment === 'number' ? `[${segment}]` : JSON.stringify(segment);
}
