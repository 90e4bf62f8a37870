import type { Definition } from '../model/definition.ts';
import type { DefinitionIndex } from './definition-index.ts';
import type { Json } from './json.ts';
import { jsonPath } from './json-path.ts';
import { nearestKey } from './nearest.ts';
import type { StepTypeCatalog } from './output-schema.ts';
import { checkExpression, checkTemplates } from './preflight-references.ts';
import type { Root, Site } from './preflight-references.ts';
import { checkOwnFields, sensitiveFault } from './preflight-step.ts';
import { checkDuration, checkSchemaAt } from './preflight-values.ts';
import type { Stand } from './preflight-walk.ts';
import type { Problem } from './problem.ts';
import { impossiblePath } from './schema-path.ts';
import { parsePath } from './templates.ts';

/** Everything that is wrong with the workflow's own fields. */
export function checkWorkflow(index: DefinitionIndex, steps: readonly Stand[], types: StepTypeCatalog): Problem[] {
  const { definition } = index;
  const at = (roots: readonly Root[]): Site => ({ index, types, from: undefined, roots });
  const start = at(['workflow_input', 'run']);
  const end = at(['workflow_input', 'step', 'run']);
  return [
    ...checkSchemaAt(definition.input, 'input'),
    ...checkSensitive(definition),
    ...checkTimes(definition),
    ...checkErrorPolicy(definition, steps),
    ...checkStates(definition),
    ...checkTemplateField(definition.businessKey, 'businessKey', start),
    ...checkTemplateField(definition.concurrency?.key, 'concurrency.key', start),
    ...checkTemplateField(definition.attributes, 'attributes', start),
    ...sensitiveFault(index, definition.businessKey, 'businessKey'),
    ...sensitiveFault(index, definition.attributes, 'attributes'),
    ...checkTemplateField(definition.output, 'output', end),
    ...checkTemplateField(definition.destinations as Json | undefined, 'destinations', {
      ...end,
      roots: [...end.roots, 'secret'],
      secretFields: true,
    }),
    ...checkReconciliation(definition, end),
  ];
}

/** The states that a run can be in: those that have an entry, even an empty one. */
export function statesOf(definition: Definition): readonly string[] | undefined {
  return definition.states === undefined ? undefined : Object.keys(definition.states.transitions);
}

function checkTemplateField(value: Json | undefined, path: string, site: Site): Problem[] {
  return value === undefined ? [] : checkTemplates(value, path, site);
}

function checkTimes({ timeout, deadline, rateLimit, reconcile, alerts }: Definition): Problem[] {
  return [
    ...checkDuration(alerts?.after, 'alerts.after', { positive: true }),
    ...checkDuration(alerts?.escalateAfter, 'alerts.escalateAfter', { positive: true }),
    ...checkDuration(timeout, 'timeout', { positive: true }),
    ...checkDuration(deadline, 'deadline', { positive: true }),
    ...checkDuration(rateLimit?.per, 'rateLimit.per', { positive: true }),
    ...checkDuration(reconcile?.after, 'reconcile.after'),
    ...checkDuration(reconcile?.retryEvery, 'reconcile.retryEvery', { positive: true }),
    ...checkDuration(reconcile?.giveUpAfter, 'reconcile.giveUpAfter', { positive: true }),
  ];
}

function checkErrorPolicy({ onError }: Definition, steps: readonly Stand[]): Problem[] {
  if (onError !== 'compensate' || steps.some(({ step }) => step.compensate !== undefined)) return [];
  return [
    {
      path: 'onError',
      code: 'definition.invalid',
      message: 'no step says how it is undone; add "compensate" to the steps with effects, or use onError "fail"',
    },
  ];
}

function checkStates({ states }: Definition): Problem[] {
  if (states === undefined) return [];
  const known = Object.keys(states.transitions);
  const check = (state: string, path: string): Problem[] => {
    if (known.includes(state)) return [];
    const nearest = nearestKey(known, state);
    const name = JSON.stringify(state);
    const message = `there is no state ${name}; add ${name}: [] to states.transitions${nearest === undefined ? '' : `, or use the nearest, "${nearest}"`}`;
    return [{ path, code: 'definition.invalid', message }];
  };
  return [
    ...check(states.initial, 'states.initial'),
    ...Object.entries(states.transitions).flatMap(([from, targets]) =>
      targets.flatMap((target, position) => check(target, jsonPath(['transitions', from, position], 'states'))),
    ),
    ...Object.entries(states.deadlines ?? {}).flatMap(([state, limit]) => {
      const path = jsonPath(['deadlines', state], 'states');
      return [...check(state, path), ...checkDuration(limit, path, { positive: true })];
    }),
  ];
}

/** A field that is not there would be thought protected. */
function checkSensitive({ input, sensitive }: Definition): Problem[] {
  if (input === undefined) return [];
  return (sensitive ?? []).flatMap((field, position) => {
    const reason = impossiblePath(input, pathOf(field));
    return reason === undefined
      ? []
      : [{ path: `sensitive[${position}]`, code: 'definition.invalid', message: `the input has no field "${field}": ${reason}` }];
  });
}

function pathOf(field: string): ReturnType<typeof parsePath> {
  try {
    return parsePath(field);
  } catch {
    return [field];
  }
}

function checkReconciliation({ reconcile }: Definition, end: Site): Problem[] {
  if (reconcile === undefined) return [];
  const expect: Site = { ...end, roots: ['workflow_input', 'step', 'run', 'output', 'found'] };
  return [
    ...checkOwnFields(reconcile.check as unknown as { readonly [field: string]: Json }, 'reconcile.check', {
      ...end,
      roots: [...end.roots, 'secret'],
    }),
    ...checkExpression(reconcile.expect, 'reconcile.expect', expect),
  ];
}
