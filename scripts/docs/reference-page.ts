import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from '../../functions/src/testing/zod.testing.ts';
import { asArray, asObject, asString, objectsIn } from '../json-objects.ts';
import type { JsonObject } from '../json-objects.ts';
import {
  conditionStepSchema,
  definitionLimits,
  definitionSchema,
  loopStepSchema,
  parallelStepSchema,
  retrySchema,
  stepCommonSchema,
} from '../../functions/src/model/definition.ts';
import { operations } from '../../functions/src/triggers/operations.ts';
import type { AnyStepType } from '../../functions/src/steps/step-type.ts';
import { tableOf } from './markdown.ts';

type Comments = ReadonlyMap<string, string>;

/** docs/reference.md: every field of a definition and of each step type, read from the schemas that check them. */
export function referencePage(types: readonly AnyStepType[], source: string): string {
  const model = readFileSync(join(source, 'model', 'definition.ts'), 'utf8');
  const common = new Set(Object.keys(stepCommonSchema.shape));
  const own = (schema: z.ZodType, comments: Comments): string =>
    fieldTable(schema, comments, (name) => name === 'type' || !common.has(name));
  const control: readonly (readonly [string, string, z.ZodType, string])[] = [
    ['condition', 'Takes one of two lists of steps.', conditionStepSchema, 'ConditionStep'],
    ['loop', 'Does a list of steps for each item of a list.', loopStepSchema, 'LoopStep'],
    ['parallel', 'Does several lists of steps at the same time.', parallelStepSchema, 'ParallelStep'],
  ];
  const sections = [
    HEAD,
    `## Workflow\n\n${fieldTable(definitionSchema, commentsIn(model, 'definitionSchema'), () => true)}`,
    `## Fields of every step\n\n${fieldTable(stepCommonSchema, commentsIn(model, 'stepCommonShape'), () => true)}`,
    `## Retry policy\n\nThe fields of \`retry\`. Default: 3 attempts, \`min(30 s, 2 s · 2^attempt + random jitter)\` between them.\n\n${fieldTable(retrySchema, commentsIn(model, 'retrySchema'), () => true)}`,
    ...control.map(([name, text, schema, place]) => `## Step: ${name}\n\n${text}\n\n${own(schema, commentsIn(model, place))}`),
    ...types.map((type) => stepSection(type, own(type.schema, commentsOf(sourceOf(type.type, source))))),
    `## Operations of the callable\n\n\`api\` takes \`{op, accountId, …}\` from a signed-in member; admins may call each.\n\n${operationTable()}`,
    `## Limits\n\n${tableOf(
      ['limit', 'value'],
      Object.entries(definitionLimits).map(([name, value]) => [`\`${name}\``, value.toLocaleString('en')]),
    )}`,
  ];
  return `${sections.join('\n\n')}\n`;
}

function operationTable(): string {
  const rows = Object.entries(operations).map(([op, { roles }]) => [`\`${op}\``, roles.length === 0 ? 'admin' : roles.join(', ')]);
  return tableOf(
    ['op', 'roles'],
    rows.sort(([a = ''], [b = '']) => (a < b ? -1 : 1)),
  );
}

function stepSection(type: AnyStepType, fields: string): string {
  const facts = [
    {
      effect: 'Has an outside effect: claimed, performed, recorded (3 writes).',
      compute: 'Only computes (2 writes).',
      wait: 'Waits, holding no resources.',
    }[type.kind],
    ...(type.kind === 'effect'
      ? [type.idempotent ? 'A lost attempt is repeated.' : 'A lost attempt is not repeated unless the step says `idempotent`.']
      : []),
    ...(type.secretFields === undefined
      ? []
      : [`\`{{secret.NAME}}\` may stand in ${type.secretFields.map((field) => `\`${field}\``).join(', ')}.`]),
  ];
  return `## Step: ${type.type}\n\n${type.description} ${facts.join(' ')}\n\n${fields}`;
}

function fieldTable(schema: z.ZodType, comments: Comments, wanted: (name: string) => boolean): string {
  const json = asObject(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' })) ?? {};
  const required = new Set(asArray(json['required']).map(String));
  const rows = Object.entries(asObject(json['properties']) ?? {})
    .filter(([name]) => wanted(name))
    .map(([name, field]) => [
      `\`${name}\`${required.has(name) ? '' : ' ?'}`,
      typeWords(asObject(field) ?? {}, name),
      comments.get(name) ?? '',
    ]);
  return tableOf(['field', 'value', ''], rows);
}

/** Lists of steps are recursive and say nothing in a cell. */
const STEP_LISTS: ReadonlySet<string> = new Set(['steps', 'then', 'else']);
const NAMED_STEP_LISTS: ReadonlySet<string> = new Set(['branches', 'onException']);

function typeWords(schema: JsonObject, name: string): string {
  if (STEP_LISTS.has(name)) return 'list of steps';
  if (NAMED_STEP_LISTS.has(name)) return 'lists of steps, by name';
  if (name === 'retry') return 'see above';
  return words(schema, 0);
}

function words(schema: JsonObject, depth: number): string {
  const union = objectsIn(schema['anyOf'] ?? schema['oneOf']);
  if (union.length > 5) return kinds(union);
  if (union.length > 0) return [...new Set(union.map((one) => words(one, depth)))].join(' or ');
  if ('const' in schema) return `\`${JSON.stringify(schema['const'])}\``;
  if (Array.isArray(schema['enum']))
    return asArray(schema['enum'])
      .map((one) => `\`${String(one)}\``)
      .join(', ');
  if (Array.isArray(schema['type'])) return schema['type'].map((type) => words({ type: type as unknown }, depth)).join(' or ');
  switch (schema['type']) {
    case 'array': {
      const item = asObject(schema['items']);
      return item === undefined ? 'list' : `list of ${words(item, depth + 1)}`;
    }
    case 'object':
      return objectWords(schema, depth);
    case 'string':
      return bounded('text', schema['maxLength']);
    case 'integer':
      return range(schema);
    case 'number':
    case 'boolean':
      return asString(schema['type']) ?? '';
    default:
      return 'any JSON';
  }
}

/** A long union of objects by the constant that tells them apart. */
function kinds(union: readonly JsonObject[]): string {
  const names = union.flatMap((one) =>
    Object.entries(asObject(one['properties']) ?? {}).flatMap(([field, value]) => {
      const constant = asString(asObject(value)?.['const']);
      return constant === undefined ? [] : [{ field, constant }];
    }),
  );
  return names.length === union.length
    ? `object of ${names[0]?.field ?? ''} ${names.map(({ constant }) => `\`${constant}\``).join(', ')}`
    : 'any JSON';
}

function objectWords(schema: JsonObject, depth: number): string {
  const properties = Object.entries(asObject(schema['properties']) ?? {});
  if (properties.length === 0) return 'object';
  if (depth > 1) return 'object';
  const required = new Set(asArray(schema['required']).map(String));
  return `{ ${properties.map(([name, field]) => `${name}${required.has(name) ? '' : '?'}: ${words(asObject(field) ?? {}, depth + 1)}`).join('; ')} }`;
}

function bounded(kind: string, max: unknown): string {
  return typeof max === 'number' && max < 1_000_000 ? `${kind}, at most ${max.toLocaleString('en')}` : kind;
}

function range(schema: JsonObject): string {
  const [min, max] = [schema['minimum'], schema['maximum']].map((bound) =>
    typeof bound === 'number' && Number.isSafeInteger(bound) && Math.abs(bound) < 2 ** 53 - 1 ? bound : undefined,
  );
  if (min === undefined && max === undefined) return 'whole number';
  return max === undefined ? `whole number from ${String(min)}` : `whole number, ${String(min ?? '')} to ${max.toLocaleString('en')}`;
}

/** The same, of one declaration: two schemas of a file may have fields of one name. */
function commentsIn(text: string, declaration: string): Comments {
  const start = text.search(new RegExp(String.raw`^(?:export )?(?:const|interface) ${declaration}\b`, 'm'));
  const length = text.slice(start + 1).search(/^(?:export )?(?:const|interface|type|function) /m);
  return start === -1 ? new Map() : commentsOf(text.slice(start, length === -1 ? undefined : start + 1 + length));
}

/** The comment above each field of a schema or interface in a source text. */
function commentsOf(text: string): Comments {
  const found = new Map<string, string>();
  for (const match of text.matchAll(/\/\*\*\s*((?:(?!\*\/)[\s\S])*?)\s*\*\/\s*\n\s*(?:readonly )?(\w+)\??:/g)) {
    const [, comment = '', name = ''] = match;
    if (!found.has(name)) found.set(name, comment.replaceAll(/\s*\n\s*\*\s*/g, ' ').trim());
  }
  return found;
}

/** The file that declares a step type. */
function sourceOf(type: string, source: string): string {
  const folder = join(source, 'steps');
  const files = readdirSync(folder).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  return files.map((name) => readFileSync(join(folder, name), 'utf8')).find((text) => text.includes(`type: z.literal('${type}')`)) ?? '';
}

const HEAD = `# Reference

<!-- Made from the zod schemas in functions/src by \`npm run docs\`. Do not edit. -->

Every field of a graph workflow. A \`?\` marks what may be left out. Unknown fields are refused, with the nearest known name.
Durations are milliseconds or text such as \`90s\`, \`15m\`, \`24h\`, \`7d\`, \`2w\`. Texts may hold [templates](graph-workflows.md#templates).
What the step types are for, with examples: [graph workflows](graph-workflows.md) and [steps](steps.md).`;
