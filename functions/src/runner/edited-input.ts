import { parseJson } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import { loadPayload } from '../ledger/payloads.ts';
import type { Held } from '../ledger/steps.ts';
import type { AnyStepType } from '../steps/step-type.ts';
import type { Resolved } from './inputs.ts';
import type { Runtime } from './runtime.ts';

/**
 * What an operator put in the place of a step's input for its next attempts. It has the form in which the input is shown: the
 * step's own fields, filled in, and its named inputs under `inputs`. Fields that are left out stay as they are.
 */
export async function withEdits(runtime: Runtime, { record }: Held, type: AnyStepType, resolved: Resolved): Promise<Resolved> {
  if (record.editedInput === undefined) return resolved;
  const edited = parseJson(await loadPayload(runtime.store, record, record.editedInput));
  if (typeof edited !== 'object' || edited === null || Array.isArray(edited)) return resolved;
  const { inputs, ...fields } = edited;
  const kept = new Set([...(type.literalFields ?? []), 'type', 'id']);
  const own = Object.fromEntries(Object.entries(fields).filter(([field]) => !kept.has(field)));
  return { config: { ...resolved.config, ...own }, input: isObject(inputs) ? inputs : resolved.input };
}

function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
