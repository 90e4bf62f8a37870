import type { Json } from '../engine/json.ts';
import { jsonPath, pointerParts } from '../engine/json-path.ts';
import { checkDefinition } from '../engine/preflight.ts';
import type { Problem } from '../engine/problem.ts';
import { validateAgainst } from '../engine/schema-check.ts';
import { OPENING } from '../engine/template-syntax.ts';
import { templatesIn } from '../engine/templates.ts';
import type { DefinitionIndex, Place } from '../engine/definition-index.ts';
import { limitsOf } from '../ledger/limits.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import type { Definition, StepConfig } from '../model/definition.ts';
import type { RunRecord } from '../model/run.ts';
import type { SecretSource } from '../services/secrets.ts';
import type { StepServices } from '../steps/step-type.ts';
import { CallSecrets, weakness } from './call-secrets.ts';
import { describedBy } from './described.ts';
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
  const schema = index.definition.input;
  const inputProblems =
    schema === undefined ? [] : validateAgainst(schema, input).map((problem) => ({ ...problem, path: `input${problem.path}` }));
  const definitionProblems = checkDefinition(index, runtime.stepTypes);
  // A step type's own check may rely on its schema, so it only sees definitions that are well-formed.
  const environment = definitionProblems.length > 0 ? [] : await checkEnvironment(runtime, run.accountId, index);
  return [...inputProblems, ...definitionProblems, ...environment, ...descriptionProblems(index.definition, run, input)];
}

/** What the run is found by comes from its input. */
function descriptionProblems(definition: Definition, run: RunRecord, input: Json): readonly Problem[] {
  try {
    describedBy(definition, run, input);
    return [];
  } catch (error) {
    if (!(error instanceof KilnError)) throw error;
    return [{ path: definition.businessKey === undefined ? 'attributes' : 'businessKey', code: error.code, message: error.message }];
  }
}

/** What depends on the deployment rather than on the definition: actions, secrets, servers. */
export async function checkEnvironment(runtime: Runtime, accountId: string, index: DefinitionIndex): Promise<Problem[]> {
  const { secrets } = runtime.services;
  const { destinations = [] } = index.definition;
  const found: Problem[] = [
    ...secretProblems(destinations as Json, 'destinations', secrets),
    ...signingProblems(destinations, secrets),
    ...addressProblems(destinations, runtime.services.http),
  ];
  for (const place of index.places.values()) {
    const type = runtime.stepTypes.find(place.step.type);
    found.push(...secretProblems(fieldsWithSecrets(place.step, type?.secretFields ?? []), place.path, secrets));
    found.push(...(await limitProblems(runtime, accountId, place)));
    if (type?.preflight === undefined) continue;
    const own = ownFields(place.step as unknown as Record<string, unknown>);
    // The type's own check relies on its schema. A field that a template fills in may be of any kind until the step begins.
    if (!type.schema.safeParse(own).success) continue;
    const config = { ...place.step, ...own };
    const context = { index, place, services: runtime.services, accountId: accountId, secrets: new CallSecrets(secrets) };
    found.push(...(await type.preflight(config, context)));
  }
  return found;
}

/** The keys that sign webhooks, by their names. */
function signingProblems(destinations: NonNullable<Definition['destinations']>, source: SecretSource | undefined): Problem[] {
  return destinations.flatMap((destination, n) => {
    const names = destination.type === 'webhook' && destination.secret !== undefined ? destination.secret.split(',') : [];
    return names
      .map((name) => name.trim())
      .filter((name) => source?.get(name) === undefined)
      .map((name): Problem => ({
        path: `destinations[${n}].secret`,
        code: 'secret.missing',
        message: `the secret ${name} is not configured`,
      }));
  });
}

/** Inner addresses are refused as early as they can be seen; and again at each call, when the name is resolved. */
function addressProblems(destinations: NonNullable<Definition['destinations']>, http: StepServices['http']): Problem[] {
  return destinations.flatMap((destination, n): Problem[] => {
    if (destination.type !== 'webhook' || http === undefined || destination.url.includes(OPENING)) return [];
    try {
      http.check(destination.url);
      return [];
    } catch (error) {
      const { message } = toErrorRecord(error);
      return [{ path: `destinations[${n}].url`, code: error instanceof KilnError ? error.code : 'request.invalid', message }];
    }
  });
}

async function limitProblems(runtime: Runtime, accountId: string, { step, path }: Place): Promise<Problem[]> {
  if (step.limit === undefined) return [];
  const limits = await limitsOf(runtime, accountId);
  if (Object.hasOwn(limits, step.limit)) return [];
  const message = `the account has no limit "${step.limit}"; it has: ${Object.keys(limits).sort().join(', ')}`;
  return [{ path: `${path}.limit`, code: 'limit.unknown', message }];
}

function fieldsWithSecrets(step: StepConfig, secretFields: readonly string[]): { [field: string]: Json } {
  return Object.fromEntries(Object.entries(step as { readonly [field: string]: Json }).filter(([field]) => secretFields.includes(field)));
}

/** Secrets that are not there, or cannot be redacted: known before the first step rather than at the call. */
function secretProblems(value: Json, base: string, source: SecretSource | undefined): Problem[] {
  return templatesIn(value).references.flatMap(({ reference, path }): Problem[] => {
    if (reference.root !== 'secret') return [];
    const at = jsonPath(pointerParts(path, value), base);
    const secret = source?.get(reference.name);
    if (secret === undefined) return [{ path: at, code: 'secret.missing', message: `the secret ${reference.name} is not configured` }];
    const fault = weakness(reference.name, secret);
    return fault === undefined ? [] : [{ path: at, code: 'secret.too_short', message: fault }];
  });
}
