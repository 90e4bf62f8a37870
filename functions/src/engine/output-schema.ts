import type { z } from 'zod';
import type { StepConfig } from '../model/definition.ts';
import { isCondition, isLoop, isParallel } from './definition-index.ts';
import type { Json } from './json.ts';

/** What pre-flight must know of a step type. Field names may be paths such as `event.match`. */
export interface StepTypeFacts {
  /** Fields that members read, however sensitive the step is. */
  readonly publicFields?: readonly string[];
  readonly kind: 'effect' | 'compute' | 'wait';
  readonly schema: z.ZodType;
  /** Fields that are not templates: expressions, schemas, nested definitions. */
  readonly literalFields?: readonly string[];
  /** Fields in which `{{secret.NAME}}` may stand; `inputs` stands for the step's inputs. */
  readonly secretFields?: readonly string[];
  /** Fields that hold a JSON Schema. */
  readonly schemaFields?: readonly string[];
  /** Fields that hold a duration. */
  readonly durationFields?: readonly string[];
  /** Fields that hold a date. */
  readonly dateFields?: readonly string[];
  /** JSON Schema of the output, as far as the configuration says it: pre-flight refuses paths that cannot be there. */
  outputSchema?(config: { readonly [field: string]: Json }): Json | undefined;
}

export interface StepTypeCatalog {
  find(type: string): StepTypeFacts | undefined;
  names(): readonly string[];
}

/** JSON Schema of what later steps see of this one; undefined when nothing is known. */
export function outputSchemaOf(step: StepConfig, types: StepTypeCatalog): Json | undefined {
  const schema = successSchema(step, types);
  return schema === undefined ? undefined : { anyOf: [schema, failureSchema] };
}

function successSchema(step: StepConfig, types: StepTypeCatalog): Json | undefined {
  if (isCondition(step)) return exactly({ branch: { enum: ['then', 'else'], type: 'string' }, value: { type: 'boolean' } });
  if (isLoop(step)) return step.collect === 'none' ? exactly({ count: { type: 'integer' } }) : { type: 'array' };
  if (isParallel(step)) {
    const names = Object.keys(step.branches);
    const of = (schema: Json): Json => exactly(Object.fromEntries(names.map((name) => [name, schema])));
    switch (step.policy ?? 'settled') {
      case 'settled':
        return of(exactly({ status: { type: 'string' }, value: true, reason: true }));
      case 'all':
        return of(true);
      case 'any':
        return exactly({ branch: { type: 'string' }, value: true });
    }
  }
  return types.find(step.type)?.outputSchema?.(step as unknown as { readonly [field: string]: Json });
}

/** What is seen of a step that failed and was passed over: by its own rule, its branch's, its iteration's or the workflow's. */
const failureSchema: Json = { type: 'object', properties: { error: { type: 'object' } }, required: ['error'], additionalProperties: false };

function exactly(properties: { [name: string]: Json }): Json {
  return { type: 'object', properties, additionalProperties: false };
}
