/**
 * Prints the JSON Schemas of workflow definitions and of every step type, for the editor. Run by the build in a process of its own: step
 * types are code of the functions, with packages that a browser has no use for.
 */
import { z } from '../functions/node_modules/zod/index.js';
import {
  conditionStepSchema,
  definitionSchema,
  loopStepSchema,
  parallelStepSchema,
  stepCommonSchema,
} from '../functions/src/model/definition.ts';
import { createStepRegistry } from '../functions/src/steps/index.ts';

const options = { unrepresentable: 'any', io: 'input' } as const;

const controls = [
  { type: 'condition', title: 'Condition', description: 'Goes one of two ways, by an expression.', schema: conditionStepSchema },
  { type: 'loop', title: 'Loop', description: 'Does its steps for each item of a list.', schema: loopStepSchema },
  { type: 'parallel', title: 'Parallel', description: 'Does its branches at the same time.', schema: parallelStepSchema },
];

interface Described {
  readonly properties?: Record<string, unknown>;
  readonly required?: readonly string[];
}

const common = z.toJSONSchema(stepCommonSchema, options) as Described;

function whole(schema: z.ZodType): object {
  const own = z.toJSONSchema(schema, options) as Described;
  return {
    ...own,
    properties: { ...common.properties, ...own.properties },
    required: [...new Set([...(common.required ?? []), ...(own.required ?? [])])],
  };
}

const steps = createStepRegistry()
  .all()
  .map(({ type, title, description, schema }) => ({ type, title, description, schema: whole(schema as z.ZodType) }));

process.stdout.write(
  JSON.stringify({
    definition: z.toJSONSchema(definitionSchema, options),
    steps: [...controls.map((each) => ({ ...each, schema: z.toJSONSchema(each.schema, options) })), ...steps].sort((a, b) =>
      a.type < b.type ? -1 : 1,
    ),
  }),
);
