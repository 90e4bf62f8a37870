import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Json } from '../../functions/src/engine/json.ts';
import * as model from '../../functions/src/model/definition.ts';
import { createStepRegistry } from '../../functions/src/steps/index.ts';
import type { AnyStepType } from '../../functions/src/steps/step-type.ts';
import { z } from '../../functions/src/testing/zod.testing.ts';
import { ROOT } from '../root.ts';
import { fieldComments } from './comments.ts';
import type { FieldComments } from './comments.ts';

type Schema = { [keyword: string]: Json };

const SOURCES = join(ROOT, 'functions', 'src');
const STEPS = '#/$defs/steps';
const TEMPLATE = '#/$defs/template';
const MAPPING = '#/$defs/inputMapping';
const COMMON = '#/$defs/common/properties';

/** JSON Schema (2020-12) of a workflow definition, with the fields of every step type, for editors. */
export function definitionJsonSchema(): Schema {
  const types = createStepRegistry();
  const comments = fieldComments(readFileSync(join(SOURCES, 'model', 'definition.ts'), 'utf8'));
  const root = described(converted(model.definitionSchema, comments), comments, ['definitionSchema']);
  const steps = Object.fromEntries([
    ...controlSteps(comments),
    ...types.all().map((type): [string, Schema] => [type.type, workStep(type)]),
  ]);
  const names = Object.keys(steps).sort();
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Kiln workflow',
    description: 'A graph workflow as it is published: its steps, their order, and the rules that hold for its runs.',
    ...root,
    $defs: {
      steps: { type: 'array', items: { $ref: '#/$defs/step' } },
      step: {
        type: 'object',
        required: ['id', 'type'],
        properties: { type: { enum: names, description: 'What the step does.' } },
        allOf: names.map((name): Schema => ({
          if: { properties: { type: { const: name } }, required: ['type'] },
          then: { $ref: `#/$defs/${name}Step` },
        })),
      },
      ...Object.fromEntries(names.map((name) => [`${name}Step`, steps[name] ?? {}])),
      common: { properties: commonProperties(comments), description: 'What every step may say.' },
      template: {
        type: 'string',
        pattern: '\\{\\{',
        description: 'Filled in when the step begins: {{workflow_input.a.b}}, {{step.id.path}}, {{loop_item.field}}, {{loop_index}}.',
      },
      inputMapping: { ...converted(model.inputMappingSchema, comments), description: 'Where an input comes from.' },
    },
  };
}

function controlSteps(comments: FieldComments): [string, Schema][] {
  const controls = [
    ['condition', model.conditionStepSchema, 'ConditionStep', 'Chooses one of two lists of steps by an expression.'],
    ['loop', model.loopStepSchema, 'LoopStep', 'Runs its steps once for each item of a list.'],
    ['parallel', model.parallelStepSchema, 'ParallelStep', 'Runs named branches side by side and gathers what they end with.'],
  ] as const;
  return controls.map(([name, schema, scope, description]) => {
    const step = described(converted(schema, comments), comments, [scope]);
    const properties = { ...propertiesOf(step), ...commonReferences() };
    return [name, { title: titleOf(name), description, ...step, properties: { ...properties, type: { const: name } } }];
  });
}

function commonProperties(comments: FieldComments): Schema {
  return propertiesOf(described(withInputs(converted(model.stepCommonSchema, comments)), comments, ['StepCommon', 'stepCommonShape']));
}

function commonReferences(): Schema {
  return Object.fromEntries(Object.keys(model.stepCommonSchema.shape).map((name) => [name, { $ref: `${COMMON}/${name}` }]));
}

function workStep(type: AnyStepType): Schema {
  const own = fieldComments(stepSource(type.type));
  const literal = new Set([...(type.literalFields ?? []), 'type']);
  const fields = described(converted(type.schema, own), own, [...own.keys()], true);
  const properties = propertiesOf(fields);
  const fillable = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, literal.has(name) ? schema : orTemplate(schema)]),
  );
  const required = [...new Set(['id', 'type', ...(Array.isArray(fields['required']) ? fields['required'] : [])])];
  return {
    title: type.title,
    description: type.description,
    type: 'object',
    properties: { ...commonReferences(), ...fillable },
    required,
    additionalProperties: false,
  };
}

/** The source of the step type, for its comments. */
function stepSource(type: string): string {
  const folder = join(SOURCES, 'steps');
  const sources = readdirSync(folder)
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => readFileSync(join(folder, name), 'utf8'));
  return sources.find((source) => source.includes(`type: z.literal('${type}')`)) ?? '';
}

/** Zod's JSON Schema, with lists of steps by reference, free JSON without a rule, and the model's own comments. */
function converted(schema: z.ZodType, comments: FieldComments): Schema {
  const names = new Map(Object.entries(model).map(([name, value]): [unknown, string] => [value, name]));
  const json = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema._zod.def.type === 'lazy') {
        for (const keyword of Object.keys(jsonSchema)) Reflect.deleteProperty(jsonSchema, keyword);
        if (names.get(zodSchema) === 'stepListSchema') jsonSchema.$ref = STEPS;
      }
      const scope = names.get(zodSchema);
      if (scope !== undefined) Object.assign(jsonSchema, described(jsonSchema as Schema, comments, [scope]));
    },
  });
  return tidied(json as Schema) as Schema;
}

/** Without what says nothing: the copies that zod makes of free JSON, bounds of safe integers, keys that are texts. */
function tidied(value: Json): Json {
  if (Array.isArray(value)) return value.map(tidied);
  if (typeof value !== 'object' || value === null) return value;
  const { $ref: reference } = value;
  if (typeof reference === 'string' && reference.startsWith('#/$defs/__schema')) return {};
  const kept = Object.entries(value).filter(([keyword, member]) => {
    if (keyword === '$schema' || keyword === '$defs') return false;
    if (keyword === 'propertyNames') return JSON.stringify(member) !== '{"type":"string"}';
    return Math.abs(Number(member)) !== Number.MAX_SAFE_INTEGER;
  });
  return Object.fromEntries(kept.map(([keyword, member]) => [keyword, tidied(member)]));
}

/** Puts comments on the properties, and with `deep` on those of objects inside. */
function described(schema: Schema, comments: FieldComments, scopes: readonly string[], deep = false): Schema {
  const properties = Object.entries(propertiesOf(schema)).map(([name, property]): [string, Json] => {
    const comment = scopes.map((scope) => comments.get(scope)?.get(name)).find((found) => found !== undefined);
    const inner = deep && isSchema(property) ? described(property, comments, scopes, true) : property;
    const known = isSchema(inner) && inner['description'] !== undefined;
    return [name, comment === undefined || known || !isSchema(inner) ? inner : { description: comment, ...inner }];
  });
  return properties.length === 0 ? schema : { ...schema, properties: Object.fromEntries(properties) };
}

/** An input is a mapping, or any other JSON; what names a source of mappings must be one. */
function withInputs(schema: Schema): Schema {
  const sources = model.inputMappingSchema.options.map((option) => option.shape.source.value);
  const other: Schema = { not: { type: 'object', properties: { source: { enum: sources } }, required: ['source'] } };
  return {
    ...schema,
    properties: { ...propertiesOf(schema), inputs: { type: 'object', additionalProperties: { anyOf: [{ $ref: MAPPING }, other] } } },
  };
}

/** Allows a template wherever a value is asked for: its own value is checked when it is known. */
function orTemplate(schema: Json): Json {
  if (!isSchema(schema) || Object.keys(schema).length === 0) return schema;
  const { description, ...rule } = schema;
  const inner = insides(rule);
  if (rule['type'] === 'string' && Object.keys(rule).length === 1) return schema;
  const either: Schema =
    Array.isArray(inner['anyOf']) && Object.keys(inner).length === 1
      ? { anyOf: [...inner['anyOf'], { $ref: TEMPLATE }] }
      : { anyOf: [inner, { $ref: TEMPLATE }] };
  return description === undefined ? either : { description, ...either };
}

function insides(rule: Schema): Schema {
  const members = Object.entries(rule).map(([keyword, member]): [string, Json] => {
    switch (keyword) {
      case 'properties':
        return [
          keyword,
          isSchema(member)
            ? Object.fromEntries(
                Object.entries(member).map(([name, property]) => [name, isConstant(property) ? property : orTemplate(property)]),
              )
            : member,
        ];
      case 'items':
      case 'additionalProperties':
        return [keyword, orTemplate(member)];
      case 'anyOf':
      case 'oneOf':
      case 'prefixItems':
        return [keyword, Array.isArray(member) ? member.map((option) => (isSchema(option) ? insides(option) : option)) : member];
      default:
        return [keyword, member];
    }
  });
  return Object.fromEntries(members);
}

/** What tells alternatives apart must be written out. */
function isConstant(schema: Json): boolean {
  return isSchema(schema) && schema['const'] !== undefined;
}

function propertiesOf(schema: Schema): Schema {
  return isSchema(schema['properties']) ? schema['properties'] : {};
}

function isSchema(value: Json | undefined): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function titleOf(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
