import { placeOf } from '../engine/definition-index.ts';
import type { DefinitionIndex } from '../engine/definition-index.ts';
import type { Held } from '../ledger/steps.ts';
import { KilnError } from '../model/errors.ts';
import { commonStepFields } from '../model/definition.ts';
import type { StepCommon, StepConfig } from '../model/definition.ts';
import type { AnyStepType, RunFacts } from '../steps/step-type.ts';
import { resolveStep, templatesOf } from './inputs.ts';
import type { Resolved } from './inputs.ts';
import type { Runtime } from './runtime.ts';
import { readScope } from './scope-reader.ts';
import type { ScopeFrom } from './scope-reader.ts';

export function scopeFrom(held: Held, index: DefinitionIndex): ScopeFrom {
  const { record } = held;
  return { ref: record, index, place: placeOf(index, record.stepId), loops: record.loops };
}

/** Reads what the step refers to and fills its templates in. Deterministic: what it refers to never changes. */
export async function resolveConfig(
  runtime: Runtime,
  held: Held,
  index: DefinitionIndex,
  type: AnyStepType,
  step: StepConfig = placeOf(index, held.record.stepId).step,
): Promise<Resolved> {
  const templates = templatesOf(step, type.literalFields ?? []);
  const scope = await readScope(runtime.store, scopeFrom(held, index), { references: templates.references });
  return secretive(
    held,
    resolveStep(step, templates, (reference) => scope.lookup(reference), type.secretFields ?? []),
  );
}

/** A step is as sensitive as its record: by what it says itself, by what reaches it, or by the run that it is in. */
export function secretive({ record }: Held, resolved: Resolved): Resolved {
  return record.sensitive === undefined ? resolved : { ...resolved, config: { ...resolved.config, sensitive: true } };
}

/** The fields that a step type's own schema describes. */
export function ownFields(config: { readonly [field: string]: unknown }): { [field: string]: unknown } {
  return Object.fromEntries(Object.entries(config).filter(([field]) => !commonStepFields.has(field)));
}

/** The filled-in configuration, checked again by the type's schema: a template may have brought anything. */
export function parsedConfig(type: AnyStepType, resolved: Resolved): object & StepCommon {
  const own = type.schema.safeParse(ownFields(resolved.config));
  if (!own.success) {
    const problems = own.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ');
    throw new KilnError('request.invalid', `the filled-in configuration is not valid: ${problems}`);
  }
  return { ...resolved.config, ...own.data } as unknown as object & StepCommon;
}

export function factsOf(held: Held): RunFacts {
  const { runId, accountId, workflowId, version, kind } = held.record;
  return { runId, accountId, workflowId, version, kind };
}

/** The filled-in business key. A lone template may have brought a number; nothing, or a structure, names no effect. */
export function effectKeyOf({ effectKey }: StepCommon): string | undefined {
  const value: unknown = effectKey;
  if (value === undefined) return undefined;
  const key = typeof value === 'number' ? String(value) : value;
  if (typeof key !== 'string' || key.trim() === '')
    throw new KilnError('request.invalid', 'effectKey is filled in with nothing that could name an effect');
  return key;
}
