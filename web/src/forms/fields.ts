/** From a JSON Schema to the fields of a form. What a form cannot show well is edited as JSON. */
import type { Json } from '@engine/json.ts';

export type JsonObject = { [key: string]: Json };

interface Base {
  /** JSON pointer of the value. */
  readonly path: string;
  readonly name: string;
  readonly label: string;
  readonly help?: string;
  readonly required: boolean;
}

export type Field =
  | (Base & { readonly kind: 'text'; readonly format: 'plain' | 'email' | 'uri' | 'date' | 'date-time'; readonly long: boolean })
  | (Base & { readonly kind: 'number'; readonly integer: boolean; readonly min?: number; readonly max?: number })
  | (Base & { readonly kind: 'boolean' })
  | (Base & { readonly kind: 'choice'; readonly options: readonly { readonly value: Json; readonly label: string }[] })
  | (Base & { readonly kind: 'object'; readonly fields: readonly Field[] })
  | (Base & { readonly kind: 'list'; readonly item: (index: number) => Field; readonly fresh: Json })
  | (Base & { readonly kind: 'json' });

const LONG_TEXT = 120;
const MAX_DEPTH = 6;
/** Items of a list that a form begins with, where so many are needed. */
const STARTS_WITH_MAX = 5;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

interface Place {
  readonly root: JsonObject;
  readonly path: string;
  readonly name: string;
  readonly required: boolean;
  readonly depth: number;
}

/** The field for a whole schema. */
export function fieldOf(schema: Json): Field {
  const root = isObject(schema) ? schema : {};
  return field(root, { root, path: '', name: '', required: true, depth: 0 });
}

function field(schema: JsonObject, place: Place): Field {
  const { root, path, name, required } = place;
  const resolved = resolve(schema, root);
  const title = resolved['title'];
  const description = resolved['description'];
  const base: Base = {
    path,
    name,
    label: typeof title === 'string' && title !== '' ? title : labelOf(name),
    required,
    ...(typeof description === 'string' ? { help: description } : {}),
  };
  const options = optionsOf(resolved);
  if (options !== undefined) return { ...base, kind: 'choice', options };
  switch (typeOf(resolved)) {
    case 'string':
      return textField(base, resolved);
    case 'number':
    case 'integer':
      return numberField(base, resolved);
    case 'boolean':
      return { ...base, kind: 'boolean' };
    case 'object':
      return objectField(base, resolved, place);
    case 'array':
      return listField(base, resolved, place);
    default:
      return { ...base, kind: 'json' };
  }
}

/** Follows references inside the document; a reference that leads nowhere or in a circle is shown as JSON. */
function resolve(schema: JsonObject, root: JsonObject): JsonObject {
  let current = schema;
  for (let hops = 0; hops < 10; hops += 1) {
    const reference = current['$ref'];
    if (typeof reference !== 'string') return current;
    const target = reference.startsWith('#/') ? valueAt(root, reference.slice(1)) : undefined;
    if (!isObject(target)) return {};
    current = target;
  }
  return {};
}

/** The one type besides null. */
function typeOf(schema: JsonObject): string | undefined {
  const { type } = schema;
  if (typeof type === 'string') return type;
  if (!Array.isArray(type)) return isObject(schema['properties']) ? 'object' : undefined;
  const others = type.filter((each) => each !== 'null');
  return others.length === 1 && typeof others[0] === 'string' ? others[0] : undefined;
}

function optionsOf(schema: JsonObject): { value: Json; label: string }[] | undefined {
  const values = schema['enum'];
  if (Array.isArray(values)) return values.map((value) => ({ value, label: textOf(value) }));
  const titled = schema['oneOf'];
  if (!Array.isArray(titled)) return undefined;
  const options = titled.flatMap((each) =>
    isObject(each) && 'const' in each ? [{ value: each['const'] ?? null, label: textOf(each['title'] ?? each['const'] ?? null) }] : [],
  );
  return options.length === titled.length ? options : undefined;
}

function textField(base: Base, schema: JsonObject): Field {
  const format = schema['format'];
  const known = format === 'email' || format === 'uri' || format === 'date' || format === 'date-time' ? format : 'plain';
  const maxLength = schema['maxLength'];
  return { ...base, kind: 'text', format: known, long: known === 'plain' && typeof maxLength === 'number' && maxLength > LONG_TEXT };
}

function numberField(base: Base, schema: JsonObject): Field {
  const { minimum, maximum } = schema;
  return {
    ...base,
    kind: 'number',
    integer: typeOf(schema) === 'integer',
    ...(typeof minimum === 'number' ? { min: minimum } : {}),
    ...(typeof maximum === 'number' ? { max: maximum } : {}),
  };
}

function objectField(base: Base, schema: JsonObject, place: Place): Field {
  const properties = schema['properties'];
  if (!isObject(properties) || place.depth >= MAX_DEPTH) return { ...base, kind: 'json' };
  const needed = Array.isArray(schema['required']) ? schema['required'] : [];
  // Definitions are stored with their keys in order of the alphabet; what is needed is listed in the author's own order.
  const names = [...needed.filter((name) => typeof name === 'string' && Object.hasOwn(properties, name)), ...Object.keys(properties)];
  const fields = [...new Set(names as string[])].map((name) => {
    const inner = properties[name];
    return field(isObject(inner) ? inner : {}, {
      ...place,
      path: `${place.path}/${escape(name)}`,
      name,
      required: needed.includes(name),
      depth: place.depth + 1,
    });
  });
  return { ...base, kind: 'object', fields };
}

function listField(base: Base, schema: JsonObject, place: Place): Field {
  const items = schema['items'];
  if (!isObject(items) || place.depth >= MAX_DEPTH) return { ...base, kind: 'json' };
  const item = (index: number): Field =>
    field(items, { ...place, path: `${place.path}/${index}`, name: String(index + 1), required: true, depth: place.depth + 1 });
  return { ...base, kind: 'list', item, fresh: initialValue(items) };
}

/** `dueDate` and `due_date` read "Due date". */
export function labelOf(name: string): string {
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/[_-]+/g, ' ')
    .trim()
    .toLowerCase();
  return words === '' ? name : words.charAt(0).toUpperCase() + words.slice(1);
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function escape(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

export function partsOf(path: string): string[] {
  return path === ''
    ? []
    : path
        .slice(1)
        .split('/')
        .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The value at a JSON pointer; own properties only. */
export function valueAt(value: Json | undefined, path: string): Json | undefined {
  let current: Json | undefined = value;
  for (const part of partsOf(path)) {
    if (Array.isArray(current)) current = current[Number(part)];
    else if (isObject(current) && Object.hasOwn(current, part)) current = current[part];
    else return undefined;
  }
  return current;
}

/** A copy with another value at the pointer; `undefined` leaves the property out. */
export function withValueAt(value: Json | undefined, path: string, next: Json | undefined): Json {
  const [part, ...rest] = partsOf(path);
  if (part === undefined) return next ?? null;
  const restPath = rest.map((each) => `/${escape(each)}`).join('');
  if (Array.isArray(value)) {
    const index = Number(part);
    if (rest.length === 0 && next === undefined) return value.filter((_, position) => position !== index);
    return value.map((each, position) => (position === index ? withValueAt(each, restPath, next) : each));
  }
  const object = isObject(value) ? value : {};
  if (rest.length === 0 && next === undefined) return Object.fromEntries(Object.entries(object).filter(([key]) => key !== part));
  return { ...object, [part]: withValueAt(object[part], restPath, next) };
}

/** What a form starts with: defaults, and empty containers where something is needed. */
export function initialValue(schema: Json, root: Json = schema): Json {
  if (!isObject(schema)) return null;
  const resolved = resolve(schema, isObject(root) ? root : {});
  const fallback = resolved['default'];
  if (fallback !== undefined) return fallback;
  if (resolved['const'] !== undefined) return resolved['const'];
  switch (typeOf(resolved)) {
    case 'object': {
      const properties = isObject(resolved['properties']) ? resolved['properties'] : {};
      const needed = Array.isArray(resolved['required']) ? resolved['required'] : [];
      return Object.fromEntries(
        Object.entries(properties).flatMap(([name, inner]) => {
          const kept = needed.includes(name) || (isObject(inner) && inner['default'] !== undefined);
          const value = kept ? initialValue(inner, root) : null;
          return value === null ? [] : [[name, value]];
        }),
      );
    }
    case 'array': {
      const least = resolved['minItems'];
      const items = resolved['items'] ?? null;
      return Array.from({ length: typeof least === 'number' ? Math.min(least, STARTS_WITH_MAX) : 0 }, () => initialValue(items, root));
    }
    case 'boolean':
      return false;
    default:
      return null;
  }
}
