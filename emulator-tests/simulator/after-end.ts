import type { RunRecord } from '../../functions/src/model/run.ts';
import type { StepRecord } from '../../functions/src/model/step.ts';

type Change<T> = readonly [before: T, after: T];

/** What may become of a run that has ended: it is undone by command, its outcome is compared, what it carried is erased. */
export function mayFollowEnd(...[before, after]: Change<RunRecord>): boolean {
  const changed = changedFields(before, after);
  if (changed.length === 0) return true;
  if (after.status === 'compensating') return only(changed, ['status', 'endedAt', 'due']) && before.status !== 'rejected';
  if (changed.length === 1 && changed[0] === 'reconciliation') return before.status === 'completed' && after.reconciliation !== undefined;
  return after.erasedAt !== undefined && only(changed, erasedOfRun) && areErased(before, after);
}

/** What may become of a step that has ended: what it carried is erased. */
export function mayFollowStep(...[before, after]: Change<StepRecord>): boolean {
  const changed = changedFields(before, after);
  const errorLeft = after.error?.message ?? '';
  return changed.length === 0 || (only(changed, erasedOfStep) && areErased(before, after) && errorLeft === '');
}

const erasedOfRun = ['erasedAt', 'input', 'output', 'error', 'context', 'problems', 'businessKey', 'attributes', 'tags'];
const erasedOfStep = ['input', 'output', 'editedInput', 'details', 'baton', 'turnError', 'attempts', 'error'];
const ERASED = '{"erased":true}';

/** Values are what they were, or gone; their size and digest stay. */
function areErased(
  before: Pick<RunRecord | StepRecord, 'input' | 'output'>,
  after: Pick<RunRecord | StepRecord, 'input' | 'output'>,
): boolean {
  return (['input', 'output'] as const).every((field) => {
    const [was, is] = [before[field], after[field]];
    return JSON.stringify(was) === JSON.stringify(is) || (is?.json === ERASED && is.digest === was?.digest && is.size === was.size);
  });
}

function only(changed: readonly string[], allowed: readonly string[]): boolean {
  return changed.every((field) => allowed.includes(field));
}

function changedFields(before: object, after: object): readonly string[] {
  const [left, right] = [before as Record<string, unknown>, after as Record<string, unknown>];
  const fields = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...fields].filter((field) => JSON.stringify(left[field]) !== JSON.stringify(right[field]));
}
