import { evaluateCondition } from '../engine/conditions.ts';
import type { DefinitionIndex } from '../engine/definition-index.ts';
import { canonicalJson, parseJson } from '../engine/json.ts';
import type { Held } from '../ledger/steps.ts';
import type { StepConfig } from '../model/definition.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import { attemptOutcome, settled } from './attempt.ts';
import type { AttemptOutcome } from './attempt.ts';
import { resolveConfig } from './resolve.ts';
import type { Runtime } from './runtime.ts';

/**
 * Looks up whether an attempt without an answer took effect. Undefined when it did not, so that the step is to be performed; else
 * the step's outcome: what the check found, or that the check itself failed.
 */
export async function confirmedOutcome(
  runtime: Runtime,
  held: Held,
  index: DefinitionIndex,
  confirm: NonNullable<StepConfig['confirm']>,
  timeoutMs: number,
): Promise<AttemptOutcome | undefined> {
  const { happened, ...check } = confirm;
  try {
    const type = runtime.stepTypes.get(check.type);
    if (type.kind !== 'effect') throw new KilnError('definition.invalid', `a step of type ${type.type} cannot look anything up`);
    const step: StepConfig = { ...check, id: held.record.stepId };
    const resolved = await resolveConfig(runtime, held, index, type, step);
    const found = settled(await attemptOutcome(runtime, held, type, resolved, timeoutMs));
    if (found.kind !== 'succeeded') throw new KilnError('effect.unconfirmed', `the check failed: ${found.error.message}`);
    if (!evaluateCondition(happened, { output: parseJson(found.output) })) return undefined;
    return { kind: 'succeeded', output: found.output, details: canonicalJson({ confirmed: true }) };
  } catch (error) {
    const record = toErrorRecord(error);
    if (record.code === 'effect.unconfirmed') return { kind: 'error', error: record };
    return { kind: 'error', error: toErrorRecord(new KilnError('effect.unconfirmed', `the check failed: ${record.message}`)) };
  }
}
