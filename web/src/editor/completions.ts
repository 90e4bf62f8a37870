/** What may be written at a place of a workflow definition. Pure: the schemas are handed in. */
import type { PathPart } from '@engine/json-path.ts';
import { isObject, type JsonObject } from '../forms/fields.ts';
import type { Json } from '@engine/json.ts';
import type { Place, Places } from './json-places.ts';

export interface StepSchema {
  readonly type: string;
  readonly title: string;
  readonly description: string;
  /** JSON Schema of the whole step. */
  readonly schema: JsonObject;
}

export interface Schemas {
  readonly definition: JsonObject;
  readonly steps: readonly StepSchema[];
}

export interface Proposal {
  readonly label: string;
  /** The text to insert, in quotes where it needs them. */
  readonly insert: string;
  readonly detail: string;
  readonly info: string;
}

export interface Proposals {
  /** The text that is replaced. */
  readonly from: number;
  readonly to: number;
  readonly options: readonly Proposal[];
}

/** Lists that hold steps, by the name of the property, or by position below `branches` and `onException`. */
const stepLists = new Set(['steps', 'then', 'else']);
const namedStepLists = new Set(['branches', 'onException']);

/** Whether a path leads to one step: `steps[2]`, `steps[2].branches.left[0]`. */
export function isStepPath(parts: readonly PathPart[]): boolean {
  const last = parts.at(-1);
  const list = parts.at(-2);
  if (typeof last !== 'number' || typeof list !== 'string') return false;
  const owner = parts.at(-3);
  return stepLists.has(list) || (typeof owner === 'string' && namedStepLists.has(owner));
}

export function proposalsAt(text: string, position: number, places: Places, schemas: Schemas): Proposals | undefined {
  const place = places.at(position);
  if (place === undefined) return undefined;
  const inTemplate = templateAt(text, position, place);
  if (inTemplate !== undefined) return templateProposals(inTemplate, position, places, text);
  if (place.kind === 'object') return keyProposals(text, position, place, places, schemas);
  // Somebody is writing a key, or a value.
  if (place.key !== undefined && position <= place.key.to) return keyProposals(text, position, place, places, schemas);
  if (place.kind === 'string') return valueProposals(place, places, text, schemas);
  return undefined;
}

/** The properties that an object may still get. */
function keyProposals(text: string, position: number, place: Place, places: Places, schemas: Schemas): Proposals | undefined {
  const parts = place.kind === 'object' ? place.parts : place.parts.slice(0, -1);
  const schema = schemaAt(parts, places, text, schemas);
  const properties = schema === undefined ? undefined : schema['properties'];
  if (!isObject(properties)) return undefined;
  const present = new Set(
    places.all
      .filter((other) => other.parts.length === parts.length + 1 && startsWith(other.parts, parts))
      .map((other) => other.parts.at(-1)),
  );
  const writing = place.kind === 'object' ? undefined : place.key;
  const needed = Array.isArray(schema?.['required']) ? schema['required'] : [];
  const options = Object.entries(properties)
    .filter(([name]) => !present.has(name) || (writing !== undefined && place.parts.at(-1) === name))
    .map(([name, inner]): Proposal => ({
      label: name,
      insert: `${JSON.stringify(name)}: ${emptyOf(inner)}`,
      detail: needed.includes(name) ? 'needed' : typeText(inner),
      info: textOf(inner, 'description'),
    }));
  return { from: writing?.from ?? position, to: writing?.to ?? position, options };
}

function startsWith(parts: readonly PathPart[], prefix: readonly PathPart[]): boolean {
  return prefix.every((part, index) => parts[index] === part);
}

/** Step types, and the values of enumerations. */
function valueProposals(place: Place, places: Places, text: string, schemas: Schemas): Proposals | undefined {
  const { from, to, parts } = place;
  if (parts.at(-1) === 'type' && isStepPath(parts.slice(0, -1))) {
    return {
      from,
      to,
      options: schemas.steps.map(({ type, title, description }) => ({
        label: type,
        insert: JSON.stringify(type),
        detail: title,
        info: description,
      })),
    };
  }
  if (parts.at(-1) === 'stepId') {
    return { from, to, options: stepIds(places, text).map((id) => ({ label: id, insert: JSON.stringify(id), detail: 'step', info: '' })) };
  }
  const schema = schemaAt(parts, places, text, schemas);
  const values = schema?.['enum'];
  if (!Array.isArray(values)) return undefined;
  return {
    from,
    to,
    options: values.map((value) => ({
      label: typeof value === 'string' ? value : JSON.stringify(value),
      insert: JSON.stringify(value),
      detail: '',
      info: '',
    })),
  };
}

/** The schema of the value at a path; a step's schema goes by the type that it names. */
function schemaAt(parts: readonly PathPart[], places: Places, text: string, schemas: Schemas): JsonObject | undefined {
  const stepAt = parts.findLastIndex((_, index) => isStepPath(parts.slice(0, index + 1)));
  const root = stepAt === -1 ? schemas.definition : stepSchema(parts.slice(0, stepAt + 1), places, text, schemas);
  let current: JsonObject | undefined = root;
  for (const part of parts.slice(stepAt + 1)) current = current === undefined ? undefined : inside(current, part, root);
  return current === undefined ? undefined : resolved(current, root);
}

function stepSchema(parts: readonly PathPart[], places: Places, text: string, { steps }: Schemas): JsonObject {
  const type = memberText(parts, 'type', places, text);
  return steps.find((each) => each.type === type)?.schema ?? common(steps);
}

/** What every step type has, while none is chosen. */
function common(steps: readonly StepSchema[]): JsonObject {
  const [first, ...others] = steps.map((each) => (isObject(each.schema['properties']) ? each.schema['properties'] : {}));
  const shared = Object.entries(first ?? {}).filter(([name]) => others.every((properties) => Object.hasOwn(properties, name)));
  return { properties: Object.fromEntries(shared), required: ['id', 'type'] };
}

function inside(schema: JsonObject, part: PathPart, root: JsonObject): JsonObject | undefined {
  const whole = resolved(schema, root);
  if (typeof part === 'number') return isObject(whole['items']) ? whole['items'] : undefined;
  const properties = whole['properties'];
  if (isObject(properties) && isObject(properties[part])) return properties[part];
  return isObject(whole['additionalProperties']) ? whole['additionalProperties'] : undefined;
}

/** Follows references, and takes the first alternative that is an object. */
function resolved(schema: JsonObject, root: JsonObject): JsonObject {
  let current = schema;
  for (let hops = 0; hops < 10; hops += 1) {
    const reference = current['$ref'];
    const alternatives = current['anyOf'] ?? current['oneOf'];
    if (typeof reference === 'string') {
      const target = reference.startsWith('#/$defs/') && isObject(root['$defs']) ? root['$defs'][reference.slice(8)] : undefined;
      if (!isObject(target)) return {};
      current = target;
    } else if (Array.isArray(alternatives) && current['properties'] === undefined && current['enum'] === undefined) {
      const next = alternatives.find((each) => isObject(each) && (each['properties'] !== undefined || each['enum'] !== undefined));
      if (!isObject(next)) return current;
      current = next;
    } else {
      return current;
    }
  }
  return current;
}

function emptyOf(schema: Json): string {
  if (!isObject(schema)) return '';
  switch (schema['type']) {
    case 'string':
      return '""';
    case 'object':
      return '{}';
    case 'array':
      return '[]';
    case 'boolean':
      return 'true';
    default:
      return '';
  }
}

function typeText(schema: Json): string {
  return textOf(schema, 'type');
}

function textOf(schema: Json, name: string): string {
  const value = isObject(schema) ? schema[name] : undefined;
  return typeof value === 'string' ? value : '';
}

/** Where a reference between {{ and }} begins, when the position is in one. */
function templateAt(text: string, position: number, place: Place): number | undefined {
  if (place.kind !== 'string' || position < place.from) return undefined;
  const before = text.slice(place.from, position);
  const open = before.lastIndexOf('{{');
  return open === -1 || before.includes('}}', open) ? undefined : place.from + open + 2;
}

function templateProposals(from: number, to: number, places: Places, text: string): Proposals {
  const input = inputFields(places).map((name) => `workflow_input.${name}`);
  const steps = stepIds(places, text).map((id) => `step.${id}`);
  const options = [...input, ...steps, 'loop_item', 'loop_index', 'secret.'].map((reference) => ({
    label: reference,
    insert: reference,
    detail: '',
    info: '',
  }));
  return { from, to, options };
}

function inputFields(places: Places): readonly string[] {
  return places.all.flatMap(({ parts }) =>
    parts.length === 3 && parts[0] === 'input' && parts[1] === 'properties' && typeof parts[2] === 'string' ? [parts[2]] : [],
  );
}

/** Ids of all steps in the text, in its order. */
export function stepIds(places: Places, text: string): readonly string[] {
  return places.all
    .filter((place) => place.parts.at(-1) === 'id' && isStepPath(place.parts.slice(0, -1)) && place.kind === 'string')
    .sort((a, b) => a.from - b.from)
    .flatMap((place) => valueOf(text.slice(place.from, place.to)) ?? []);
}

export function memberText(parts: readonly PathPart[], name: string, places: Places, text: string): string | undefined {
  const place = places.all.find(
    (each) => each.parts.length === parts.length + 1 && each.parts.at(-1) === name && startsWith(each.parts, parts),
  );
  return place?.kind === 'string' ? valueOf(text.slice(place.from, place.to)) : undefined;
}

function valueOf(quoted: string): string | undefined {
  try {
    const value: unknown = JSON.parse(quoted);
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}
