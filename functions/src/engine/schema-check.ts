import type { Json } from './json.ts';
import type { Problem } from './problem.ts';
import { shapeOf } from './schema-shape.ts';
import type { Schema, SchemaShape } from './schema-shape.ts';
import { SchemaValidator, TooMuchWork } from './schema-validator.ts';

/** A schema is walked once, however many values it is applied to. */
const shapes = new WeakMap<object, SchemaShape>();

function shape(schema: Json): SchemaShape {
  if (typeof schema !== 'object' || schema === null) {
    return shapeOf(schema);
  }
  const known = shapes.get(schema);
  if (known !== undefined) {
    return known;
  }
  const found = shapeOf(schema);
  shapes.set(schema, found);
  return found;
}

/**
 * What is wrong with a JSON Schema (draft 2020-12). Paths point into the schema. References stay inside the schema, patterns
 * are those of RE2, and nothing of it is ever compiled to code.
 */
export function checkSchema(schema: Json): Problem[] {
  return [...shape(schema).problems];
}

/**
 * Where a value does not match a schema; at most 50 places. A schema that is unusable itself gives its own problems, with the
 * code `schema.invalid`. Takes less than a second whatever it is given; what would take longer is one problem that says so.
 */
export function validateAgainst(schema: Json, value: Json): Problem[] {
  const found = shape(schema);
  if (found.problems.length > 0) {
    return [...found.problems];
  }
  try {
    return new SchemaValidator(found).validate(schema as Schema, value);
  } catch (error) {
    // A stack that is full is the same fault: the value and the schema are too deeply entangled.
    if (error instanceof TooMuchWork || error instanceof RangeError) {
      return [{ path: '', code: 'schema.mismatch', message: 'cannot be checked: schema and value together take too much work' }];
    }
    throw error;
  }
}
