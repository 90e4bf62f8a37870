import type { Json } from './json.ts';
import { compilePattern } from './pattern.ts';
import type { LinearPattern, PayForWork } from './pattern.ts';
import { isSchemaObject } from './schema-shape.ts';
import type { Schema, SchemaObject } from './schema-shape.ts';

/** A schema object taken apart once, because it is applied to every item of a list. Not code: data that is walked. */
export interface CompiledSchema {
  readonly source: SchemaObject;
  readonly types: readonly string[];
  readonly options: Options | null;
  readonly checksNumbers: boolean;
  readonly checksLength: boolean;
  readonly pattern: LinearPattern | null;
  readonly format: string | null;
  readonly inPlace: InPlace | null;
  readonly list: ListRules | null;
  readonly object: ObjectRules | null;
}

/** What `enum` allows. Scalars are looked up, since an enum can be long. */
interface Options {
  readonly scalars: ReadonlySet<Json>;
  readonly containers: readonly Json[];
}

/** Schemas that are applied to the value itself. */
interface InPlace {
  readonly reference: string | null;
  readonly allOf: readonly Schema[];
  readonly anyOf: readonly Schema[];
  readonly oneOf: readonly Schema[];
  readonly not: Schema | undefined;
  readonly if: Schema | undefined;
  readonly then: Schema | undefined;
  readonly else: Schema | undefined;
}

interface ListRules {
  readonly prefix: readonly Schema[];
  readonly items: Schema | undefined;
  readonly contains: Schema | undefined;
  readonly unique: boolean;
  readonly unevaluated: Schema | undefined;
}

interface ObjectRules {
  readonly properties: ReadonlyMap<string, Schema>;
  readonly patterns: readonly (readonly [LinearPattern, Schema])[];
  readonly additional: Schema | undefined;
  readonly names: Schema | undefined;
  readonly required: readonly string[];
  readonly dependentRequired: readonly (readonly [string, readonly string[]])[];
  readonly dependentSchemas: readonly (readonly [string, Schema])[];
  readonly unevaluated: Schema | undefined;
}

const numberKeywords = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'] as const;
const inPlaceKeywords = ['$ref', 'allOf', 'anyOf', 'oneOf', 'not', 'if'] as const;
const listKeywords = ['prefixItems', 'items', 'contains', 'uniqueItems', 'unevaluatedItems'] as const;
const objectKeywords = [
  'properties',
  'patternProperties',
  'additionalProperties',
  'propertyNames',
  'required',
  'dependentRequired',
  'dependentSchemas',
  'unevaluatedProperties',
  'minProperties',
  'maxProperties',
] as const;

/** The schema must have been found free of problems. */
export function compileSchema(source: SchemaObject, pay: PayForWork): CompiledSchema {
  const has = (keywords: readonly string[]): boolean => keywords.some((keyword) => Object.hasOwn(source, keyword));
  const { type, pattern, format } = source;
  return {
    source,
    types: typeof type === 'string' ? [type] : textsOf(type),
    options: optionsOf(source['enum']),
    checksNumbers: has(numberKeywords),
    checksLength: has(['minLength', 'maxLength']),
    pattern: typeof pattern === 'string' ? compilePattern(pattern, pay) : null,
    format: typeof format === 'string' ? format : null,
    inPlace: has(inPlaceKeywords) ? inPlaceOf(source) : null,
    list: has(listKeywords) ? listRulesOf(source) : null,
    object: has(objectKeywords) ? objectRulesOf(source, pay) : null,
  };
}

function optionsOf(options: Json | undefined): Options | null {
  if (!Array.isArray(options)) {
    return null;
  }
  const isScalar = (option: Json): boolean => typeof option !== 'object' || option === null;
  return { scalars: new Set(options.filter(isScalar)), containers: options.filter((option) => !isScalar(option)) };
}

function inPlaceOf(source: SchemaObject): InPlace {
  return {
    reference: typeof source['$ref'] === 'string' ? source['$ref'] : null,
    allOf: schemasOf(source['allOf']),
    anyOf: schemasOf(source['anyOf']),
    oneOf: schemasOf(source['oneOf']),
    not: schemaOf(source['not']),
    if: schemaOf(source['if']),
    then: schemaOf(source['then']),
    else: schemaOf(source['else']),
  };
}

function listRulesOf(source: SchemaObject): ListRules {
  return {
    prefix: schemasOf(source['prefixItems']),
    items: schemaOf(source['items']),
    contains: schemaOf(source['contains']),
    unique: source['uniqueItems'] === true,
    unevaluated: schemaOf(source['unevaluatedItems']),
  };
}

function objectRulesOf(source: SchemaObject, pay: PayForWork): ObjectRules {
  return {
    properties: new Map(namedSchemasOf(source['properties'])),
    patterns: namedSchemasOf(source['patternProperties']).map(([pattern, schema]) => [compilePattern(pattern, pay), schema] as const),
    additional: schemaOf(source['additionalProperties']),
    names: schemaOf(source['propertyNames']),
    required: textsOf(source['required']),
    dependentRequired: entriesOf(source['dependentRequired']).map(([key, needed]) => [key, textsOf(needed)] as const),
    dependentSchemas: namedSchemasOf(source['dependentSchemas']),
    unevaluated: schemaOf(source['unevaluatedProperties']),
  };
}

function schemaOf(value: Json | undefined): Schema | undefined {
  return typeof value === 'boolean' || isSchemaObject(value) ? value : undefined;
}

function schemasOf(value: Json | undefined): readonly Schema[] {
  return Array.isArray(value) ? value.map((part) => schemaOf(part) ?? true) : [];
}

function namedSchemasOf(value: Json | undefined): readonly (readonly [string, Schema])[] {
  return entriesOf(value).map(([key, part]) => [key, schemaOf(part) ?? true] as const);
}

function entriesOf(value: Json | undefined): readonly (readonly [string, Json])[] {
  return isSchemaObject(value) ? Object.entries(value) : [];
}

function textsOf(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
