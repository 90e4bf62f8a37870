import { asArray, asObject } from '../emulator-tests/services/json-fields.ts';
import type { JsonObject } from '../emulator-tests/services/json-fields.ts';

export { asArray, asObject, asString, parseJson } from '../emulator-tests/services/json-fields.ts';
export type { JsonObject } from '../emulator-tests/services/json-fields.ts';

/** The objects in a list; what is none is left out. */
export function objectsIn(value: unknown): readonly JsonObject[] {
  return asArray(value).flatMap((item) => {
    const found = asObject(item);
    return found === undefined ? [] : [found];
  });
}
