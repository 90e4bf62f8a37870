import { controlTypes, definitionLimits, inputMappingSchema, stepCommonSchema } from '../model/definition.ts';
import type { InputMapping, LoopStep, StepConfig } from '../model/definition.ts';
import { errorCodes, KilnError } from '../model/errors.ts';
import { isCondition, isLoop, isParallel } from './definition-index.ts';
import type { DefinitionIndex } from './definition-index.ts';
import type { Json } from './json.ts';
import { jsonPath, valueAt } from './json-path.ts';
import { nearestKey } from './nearest.ts';
import type { StepTypeCatalog, StepTypeFacts } from './output-schema.ts';
import { checkExpression, checkReference, checkTemplates, stepRoots } from './preflight-references.ts';
import type { Site } from './preflight-references.ts';
import { checkDate, checkDuration, checkSchemaAt, holdsTemplate } from './preflight-values.ts';
import type { Stand } from './preflight-walk.ts';
import type { Problem } from './problem.ts';
import { retryPolicySchema } from './retry.ts';
import { parsePath } from './templates.ts';
import { zodProblems } from './zod-problems.ts';

const commonFields: readonly string[] = Object.keys(stepCommonSchema.shape);

/** Fields that the engine reads itself; `effectKey` holds templates like a type's own fields, `type` is part of them. */
const engineFields: ReadonlySet<string> = new Set(commonFields.filter((field) => field !== 'effectKey' && field !== 'type'));

/** A function lives 540 s; what is left records the step's end. */
const STEP_TIMEOUT_MAX_MS = 500_000;

export interface StepCheck {
  readonly stand: Stand;
  readonly index: DefinitionIndex;
  readonly types: StepTypeCatalog;
  readonly states: readonly string[] | undefined;
}

type Fields = { readonly [field: string]: Json };

/** Everything that is wrong with one step by itself, without the steps that it contains. */
export function checkStep(check: StepCheck): Problem[] {
  const { stand, index, types } = check;
  const { step, path } = stand;
  const site: Site = { index, types, from: stand, roots: stepRoots };
  const shared = [
    ...checkLimits(stand),
    ...checkInputs(step, path, withSecrets(site, types.find(step.type))),
    ...checkExceptions(step, path),
    ...checkState(check),
    ...checkCompensation(step, path, site),
    ...checkConfirmation(step, path, site),
  ];
  if (isCondition(step)) return [...shared, ...idleFields(step, path), ...checkExpression(step.if, `${path}.if`, site)];
  if (isLoop(step)) return [...shared, ...idleFields(step, path), ...checkLoop(step, path, site)];
  if (isParallel(step)) return [...shared, ...idleFields(step, path), ...checkBranches(step.branches, path)];
  const type = types.find(step.type);
  return [
    ...shared,
    ...checkTimes(step, path, type),
    ...checkOwnFields(step as unknown as Fields, path, site),
    ...checkPublic(check, type?.publicFields ?? []),
  ];
}

function withSecrets(site: Site, type: StepTypeFacts | undefined): Site {
  return type?.secretFields === undefined ? site : { ...site, secretFields: type.secretFields };
}

/** Reports the outermost step only: those inside it have longer keys still. */
function checkLimits({ step, path, keyLength, ownerKeyLength }: Stand): Problem[] {
  if (keyLength <= definitionLimits.maxStepKeyBytes || ownerKeyLength > definitionLimits.maxStepKeyBytes) return [];
  const message = `the key of step "${step.id}" would have up to ${keyLength} characters; the limit is ${definitionLimits.maxStepKeyBytes}. Use shorter ids, or nest less`;
  return [{ path: `${path}.id`, code: 'definition.invalid', message }];
}

/** The type's own fields (of a step, or of a configuration inside one), its templates, schemas and times. */
export function checkOwnFields(config: Fields, path: string, site: Site): Problem[] {
  const name = typeof config['type'] === 'string' ? config['type'] : '';
  const type = site.types.find(name);
  if (type === undefined) return [unknownType(name, path, site.types)];
  const own = Object.fromEntries(Object.entries(config).filter(([field]) => !engineFields.has(field)));
  const literal = type.literalFields ?? [];
  const templates = Object.fromEntries(Object.entries(own).filter(([field]) => field !== 'type' && !literal.includes(field)));
  const { effectKey: _effectKey, ...described } = own;
  return [
    ...checkShape(described, path, type),
    ...checkTemplates(templates, path, withSecrets(site, type)),
    ...(type.schemaFields ?? []).flatMap((field) => checkSchemaAt(valueAt(config, field.split('.')), `${path}.${field}`)),
    ...(type.durationFields ?? []).flatMap((field) => unlessTemplate(valueAt(config, field.split('.')), `${path}.${field}`, checkDuration)),
    ...(type.dateFields ?? []).flatMap((field) => unlessTemplate(valueAt(config, field.split('.')), `${path}.${field}`, checkDate)),
  ];
}

/** What everybody reads can show nothing sensitive. */
function checkPublic({ stand, index }: StepCheck, fields: readonly string[]): Problem[] {
  const config = stand.step as unknown as Fields;
  return fields.flatMap((field) => sensitiveFault(index, config[field], `${stand.path}.${field}`, stand));
}

/** A problem when a value that members read has something sensitive in it. */
export function sensitiveFault(index: DefinitionIndex, value: Json | undefined, path: string, stand?: Stand): Problem[] {
  if (value === undefined || !index.sensitivity.reaches(value, stand)) return [];
  const message = 'everybody in the account reads this; it cannot show a sensitive value, or the output of a step that works with one';
  return [{ path, code: 'definition.invalid', message }];
}

function unlessTemplate(value: unknown, path: string, check: (value: unknown, path: string) => Problem[]): Problem[] {
  return holdsTemplate(value) ? [] : check(value, path);
}

function unknownType(name: string, path: string, types: StepTypeCatalog): Problem {
  const known = [...new Set([...types.names(), ...controlTypes])].sort();
  const nearest = nearestKey(known, name);
  const hint = nearest === undefined ? '' : `; the nearest is "${nearest}"`;
  return {
    path: `${path}.type`,
    code: 'step.unknown_type',
    message: `there is no step type "${name.slice(0, 100)}"${hint}. Known: ${known.join(', ')}`,
  };
}

/** A field that is filled in by a template is checked when its value is known. */
function checkShape(config: Fields, path: string, type: StepTypeFacts): Problem[] {
  const parsed = type.schema.safeParse(config);
  if (parsed.success) return [];
  const literal = type.literalFields ?? [];
  return zodProblems(parsed.error.issues, config, {
    code: 'definition.invalid',
    base: path,
    fieldsAt: (at) => (at.length === 0 ? [...fieldsOf(type), ...commonFields] : undefined),
    unknownYet: (value, [field]) => holdsTemplate(value) && !literal.includes(String(field)),
  });
}

function fieldsOf(type: StepTypeFacts): string[] {
  const shape: unknown = Reflect.get(type.schema, 'shape');
  return typeof shape === 'object' && shape !== null ? Object.keys(shape) : [];
}

/** `timeout` of a waiting step is how long it waits; of any other, how long one attempt may take. */
function checkTimes(step: StepConfig, path: string, type: StepTypeFacts | undefined): Problem[] {
  const limit = {
    maxMs: STEP_TIMEOUT_MAX_MS,
    maxText: 'a step may take at most 500 s, because a function lives 540 s. Split it, or wait for an event instead',
  };
  const timeout = checkDuration(step.timeout, `${path}.timeout`, { positive: true, ...(type?.kind === 'wait' ? {} : limit) });
  return [...timeout, ...checkRetry(step.retry, `${path}.retry`)];
}

/** A base above the cap would silently be the cap. */
function checkRetry(retry: StepConfig['retry'], path: string): Problem[] {
  if (retry === undefined) return [];
  const parsed = retryPolicySchema.safeParse(retry);
  if (!parsed.success)
    return zodProblems(parsed.error.issues, retry, {
      code: 'definition.invalid',
      base: path,
      fieldsAt: () => Object.keys(retryPolicySchema.shape),
    });
  const { baseMs, capMs } = parsed.data;
  if (baseMs <= capMs) return [];
  const message = `baseMs is ${baseMs}, above capMs ${capMs}${retry.capMs === undefined ? ' (its default)' : ''}; raise capMs or lower baseMs`;
  return [{ path: `${path}.baseMs`, code: 'definition.invalid', message }];
}

/** What has no effect on a container is refused: whoever wrote it counts on it. */
function idleFields(step: StepConfig, path: string): Problem[] {
  return (['retry', 'timeout', 'effectKey', 'confirm', 'limit'] as const)
    .filter((field) => step[field] !== undefined)
    .map((field) => ({
      path: `${path}.${field}`,
      code: 'definition.invalid',
      message: `"${field}" has no effect on a ${step.type}; put it on the steps inside`,
    }));
}

function checkBranches(branches: Readonly<Record<string, readonly StepConfig[]>>, path: string): Problem[] {
  return Object.entries(branches)
    .filter(([, list]) => list.length === 0)
    .map(([name]) => ({
      path: jsonPath(['branches', name], path),
      code: 'definition.invalid',
      message: `branch "${name}" has no steps; add one, or remove the branch`,
    }));
}

function checkLoop(step: LoopStep, path: string, site: Site): Problem[] {
  const { over } = step;
  const at = `${path}.over`;
  const empty: Problem[] =
    step.steps.length > 0
      ? []
      : [{ path: `${path}.steps`, code: 'definition.invalid', message: 'the loop has no steps; add one, or remove the loop' }];
  if (over.source === 'static') {
    const limit = Math.min(step.maxItems ?? Infinity, site.index.definition.limits?.maxLoopItems ?? definitionLimits.maxLoopItems);
    const long: Problem[] =
      over.items.length <= limit
        ? []
        : [
            {
              path: `${at}.items`,
              code: 'loop.too_many_items',
              message: `the list has ${over.items.length} items; this loop's limit is ${limit}. Raise maxItems and limits.maxLoopItems, or shorten it`,
            },
          ];
    return [...empty, ...long, ...checkTemplates(over.items as Json[], `${at}.items`, site)];
  }
  return [...empty, ...checkMapping(over, at, site, '')];
}

function checkInputs(step: StepConfig, path: string, site: Site): Problem[] {
  return Object.entries(step.inputs ?? {}).flatMap(([name, value]) => {
    const at = jsonPath(['inputs', name], path);
    const mapping = inputMappingSchema.safeParse(value);
    if (mapping.success) return mapping.data.source === 'static' ? [] : checkMapping(mapping.data, at, site, 'inputs');
    if (meansMapping(value)) return zodProblems(mapping.error.issues, value, { code: 'definition.invalid', base: at });
    // Wrapped, because a secret in an input is judged by the field "inputs".
    return checkTemplates({ inputs: value }, '', site).map((problem) => ({
      ...problem,
      path: at + problem.path.slice('inputs'.length),
    }));
  });
}

const sources: ReadonlySet<unknown> = new Set(['workflowInput', 'previousStep', 'static', 'loopItem']);

/** An object that names a source is meant as a mapping; taken as a literal it would be passed on as it stands. */
function meansMapping(value: unknown): boolean {
  return typeof value === 'object' && value !== null && sources.has(valueAt(value, ['source']));
}

type PathMapping = Exclude<InputMapping, { readonly source: 'static' }> | Exclude<LoopStep['over'], { readonly source: 'static' }>;

function checkMapping(mapping: PathMapping, path: string, site: Site, field: string): Problem[] {
  try {
    const segments = parsePath(mapping.path ?? '');
    const text = `${mapping.source}${mapping.path === undefined ? '' : ` ${mapping.path}`}`;
    switch (mapping.source) {
      case 'workflowInput':
        return checkReference({ root: 'workflow_input', path: segments, text }, `${path}.path`, site, field);
      case 'previousStep':
        return checkReference({ root: 'step', stepId: mapping.stepId, path: segments, text }, path, site, field).map((problem) => ({
          ...problem,
          path: `${path}.${problem.code === 'template.missing_path' ? 'path' : 'stepId'}`,
        }));
      case 'loopItem':
        return checkReference({ root: 'loop_item', path: segments, text }, path, site, field);
    }
  } catch (error) {
    if (error instanceof KilnError) return [{ path: `${path}.path`, code: error.code, message: error.message }];
    throw error;
  }
}

/** A technical failure never takes an exception path, so a path named after one would wait for ever. */
function checkExceptions(step: StepConfig, path: string): Problem[] {
  return Object.keys(step.onException ?? {})
    .filter((code) => code === '' || (Object.hasOwn(errorCodes, code) && errorCodes[code as keyof typeof errorCodes].class !== 'business'))
    .map((code) => {
      const message =
        code === ''
          ? 'a business exception has a code; name it, or take every other one with "*"'
          : `"${code}" is a technical failure, and onException takes business exceptions only; use retry, continueOnError or the workflow's onError`;
      return { path: jsonPath(['onException', code], path), code: 'definition.invalid', message };
    });
}

function checkState({ stand: { step, path }, states }: StepCheck): Problem[] {
  const { setsState } = step;
  if (setsState === undefined || states?.includes(setsState) === true) return [];
  const nearest = states === undefined ? undefined : nearestKey(states, setsState);
  const hint =
    states === undefined
      ? 'the workflow declares no states; add "states"'
      : `declare it in states.transitions${nearest === undefined ? '' : `, or use the nearest, "${nearest}"`}`;
  return [{ path: `${path}.setsState`, code: 'definition.invalid', message: `there is no business state "${setsState}"; ${hint}` }];
}

/** What undoes a step is a step's configuration without an id; it sees the step's own output. */
function checkCompensation({ compensate }: StepConfig, path: string, site: Site): Problem[] {
  if (compensate === undefined) return [];
  return checkInnerStep(compensate, `${path}.compensate`, { ...site, seesItself: true });
}

/** What looks an effect up is a step's configuration too; `happened` sees its output. */
function checkConfirmation({ confirm }: StepConfig, path: string, site: Site): Problem[] {
  if (confirm === undefined) return [];
  const { happened, ...check } = confirm;
  const at = `${path}.confirm`;
  return [...checkInnerStep(check, at, site), ...checkExpression(happened, `${at}.happened`, { ...site, roots: ['output'] })];
}

function checkInnerStep(inner: { readonly type: string }, path: string, site: Site): Problem[] {
  if (controlTypes.some((control) => control === inner.type)) {
    const message = `this must be one step, not a ${inner.type}; start a subworkflow for more`;
    return [{ path: `${path}.type`, code: 'definition.invalid', message }];
  }
  const config = inner as unknown as StepConfig;
  const type = site.types.find(inner.type);
  return [...checkInputs(config, path, withSecrets(site, type)), ...checkTimes(config, path, type), ...checkOwnFields(inner, path, site)];
}
