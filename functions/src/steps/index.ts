import { action } from './action.ts';
import { approval } from './approval.ts';
import { browserAction } from './browser-action.ts';
import { fail } from './fail.ts';
import { handoff } from './handoff.ts';
import { http } from './http.ts';
import { notify } from './notify.ts';
import { recipe } from './recipe.ts';
import { StepRegistry } from './registry.ts';
import type { StepType } from './step-type.ts';
import { subworkflow } from './subworkflow.ts';
import { transform } from './transform.ts';
import { wait } from './wait.ts';
import { writeToKb } from './write-to-kb.ts';

/** Every step type, a line each: this is all that a new one adds outside its own file. */
export const stepTypes: readonly StepType[] = [
  action,
  approval,
  browserAction,
  fail,
  handoff,
  http,
  notify,
  recipe,
  subworkflow,
  transform,
  wait,
  writeToKb,
] as unknown as readonly StepType[];

export function createStepRegistry(): StepRegistry {
  return new StepRegistry(stepTypes);
}
