import type { Json } from '../engine/json.ts';
import { checkDefinition } from '../engine/preflight.ts';
import type { Problem } from '../engine/problem.ts';
import { validateAgainst } from '../engine/schema-check.ts';
import type { DefinitionIndex } from '../engine/definition-index.ts';
import { KilnError } from '../model/errors.ts';
import type { RunRecord } from '../model/run.ts';
import type { Runtime } from './runtime.ts';
import { ownFields } from './resolve.ts';

/** Everything that can be known before the first step, all problems at once. A run with any is rejected and costs no step. */
export async function preflightRun(runtime: Runtime, run: RunRecord, input: Json): Promise<readonly Problem[]> {
  if (run.kind === 'code') return [];
  let index: DefinitionIndex;
  try {
    index = await runtime.definitions.get(run.accountId, run.workflowId, run.version);
  } catch (error) {
    if (error instanceof KilnError) return [{ path: '', code: error.code, message: error.message }];
    throw error;
  }
  const schema = index.definition.input as Json | undefined;
  const inputProblems =
    schema === undefined ? [] : validateAgainst(schema, input).map((problem) => ({ ...problem, path: `input${problem.path}` }));
  return [...inputProblems, ...checkDefinition(index, runtime.stepTypes), ...(await environmentProblems(runtime, run, index))];
}

/** What depends on the deployment rather than on the definition: actions, secrets, servers. */
async function environmentProblems(runtime: Runtime, run: RunRecord, index: DefinitionIndex): Promise<Problem[]> {
  const found: Problem[] = [];
  for (const place of index.places.values()) {
    const type = runtime.stepTypes.find(place.step.type);
    if (type?.preflight === undefined) continue;
    const config = { ...place.step, ...ownFields(place.step as unknown as Record<string, unknown>) };
    found.push(...(await type.preflight(config, { index, place, services: runtime.services, accountId: run.accountId })));
  }
  return found;
}
