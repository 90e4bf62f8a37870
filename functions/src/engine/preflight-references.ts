import { KilnError } from '../model/errors.ts';
import type { ErrorCode } from '../model/errors.ts';
import { checkCondition, conditionReferences } from './conditions.ts';
import type { DefinitionIndex, Place } from './definition-index.ts';
import type { Json } from './json.ts';
import { jsonPath, pointerParts } from './json-path.ts';
import { nearestKey } from './nearest.ts';
import { outputSchemaOf } from './output-schema.ts';
import type { StepTypeCatalog } from './output-schema.ts';
import type { Problem } from './problem.ts';
import { impossiblePath } from './schema-path.ts';
import { visibleFrom } from './scope.ts';
import type { ScopeFault } from './scope.ts';
import { templatesIn } from './templates.ts';
import type { Reference } from './templates.ts';

export type Root = Reference['root'] | 'event' | 'output' | 'found' | 'vars';

/** Where a text that refers to other values stands. */
export interface Site {
  readonly index: DefinitionIndex;
  readonly types: StepTypeCatalog;
  /** The step from which it looks; undefined before the first step and after the last. */
  readonly from: Place | undefined;
  readonly roots: readonly Root[];
  /** True for what runs after the step itself, such as its compensation. */
  readonly seesItself?: boolean;
  /** The top-level fields in which a secret may stand; `true` for all. */
  readonly secretFields?: readonly string[] | true;
}

/** Roots that a step's configuration can use; `loop_item` and `loop_index` also need a loop around it. */
export const stepRoots: readonly Root[] = ['workflow_input', 'step', 'loop_item', 'loop_index', 'run', 'secret'];

/** Checks every template in the value: that it can be read, and that what it refers to can be there. */
export function checkTemplates(value: Json, path: string, site: Site): Problem[] {
  const { references, problems } = templatesIn(value);
  const found = problems.map((problem) => ({ ...problem, path: jsonPath(pointerParts(problem.path, value), path) }));
  for (const { reference, path: pointer } of references) {
    const parts = pointerParts(pointer, value);
    found.push(...checkReference(reference, jsonPath(parts, path), site, String(parts[0] ?? '')));
  }
  return found;
}

export function checkReference(reference: Reference, path: string, site: Site, field: string): Problem[] {
  const { root } = reference;
  const fault = (code: ErrorCode, message: string): Problem[] => [{ path, code, message: `${reference.text}: ${message}` }];
  if (root === 'secret') {
    const allowed = site.secretFields === true || site.secretFields?.includes(field) === true;
    if (allowed) return [];
    const fields = site.secretFields === undefined || site.secretFields.length === 0 ? 'none here' : site.secretFields.join(', ');
    return fault('secret.not_allowed', `a secret may only stand in a field that goes outside (${fields})`);
  }
  const misplaced = rootFault(root, site);
  if (misplaced !== undefined) return fault('template.missing_step', misplaced);
  if (root === 'step') {
    const unseen = stepFault(reference.stepId, site);
    if (unseen !== undefined) return fault('template.missing_step', unseen);
  }
  const reason = pathFault(reference, site);
  return reason === undefined ? [] : fault('template.missing_path', reason);
}

/** Checks an expression, and that what it refers to can be there. */
export function checkExpression(text: string, path: string, site: Site): Problem[] {
  const problems = checkCondition(text);
  if (problems.length > 0) return problems.map((problem) => ({ ...problem, path }));
  try {
    const { roots, stepIds } = conditionReferences(text);
    const misplaced = roots.flatMap((root) => rootFault(root, site) ?? []);
    const unseen = stepIds.flatMap((stepId) => stepFault(stepId, site) ?? []);
    return [...misplaced, ...(misplaced.length > 0 ? [] : unseen)].map((message) => ({ path, code: 'template.missing_step', message }));
  } catch (error) {
    if (error instanceof KilnError) return [{ path, code: error.code, message: error.message }];
    throw error;
  }
}

function rootFault(root: string, site: Site): string | undefined {
  if (!site.roots.some((allowed) => allowed === root)) {
    const usable = site.roots.filter((allowed) => allowed !== 'secret').join(', ');
    return `there is no ${root} here; use ${usable}`;
  }
  const inLoop = site.from?.frames.some((frame) => frame.part === 'item') === true;
  if ((root === 'loop_item' || root === 'loop_index') && !inLoop)
    return `there is no ${root} outside a loop; move the step into a loop, or refer to an earlier step`;
  return undefined;
}

/** Why the step's output cannot be read here, with what to write instead. */
export function stepFault(stepId: string, site: Site): string | undefined {
  const { index, from } = site;
  const target = index.places.get(stepId);
  if (target === undefined) {
    const nearest = nearestKey([...index.places.keys()], stepId);
    return nearest === undefined ? `there is no step "${stepId}"` : `there is no step "${stepId}"; the nearest id is "${nearest}"`;
  }
  // A doubled id has been reported; which of the two is meant nobody can say.
  if (index.duplicates.includes(stepId)) return undefined;
  if (from === undefined) return loopAround(target) === undefined ? undefined : insideLoop(stepId, loopAround(target));
  const visible = visibleFrom(index, from, stepId);
  if (visible.ok || (visible.fault === 'self' && site.seesItself === true)) return undefined;
  return faultText(visible.fault, stepId, target, from);
}

function faultText(fault: ScopeFault, stepId: string, target: Place, from: Place): string {
  switch (fault) {
    case 'unknown':
      return `there is no step "${stepId}"`;
    case 'self':
      return 'a step cannot refer to its own output; refer to an earlier step';
    case 'later':
      return `step "${stepId}" has not ended when this step runs; refer to an earlier step, or move this one behind it`;
    case 'other_branch':
      return `step "${stepId}" stands in another branch, which may not have run; refer to a step before the branches, or put this step behind them`;
    case 'inside_loop': {
      const shared = new Set(from.frames.map((frame) => frame.owner));
      return insideLoop(stepId, target.frames.find((frame) => frame.part === 'item' && !shared.has(frame.owner))?.owner);
    }
  }
}

function insideLoop(stepId: string, loop: string | undefined): string {
  const instead = loop === undefined ? '' : `; refer to the loop's own output, the list {{step.${loop}}}`;
  return `step "${stepId}" runs once for each item of a loop, so from outside it has no single output${instead}`;
}

function loopAround(place: Place): string | undefined {
  return place.frames.find((frame) => frame.part === 'item')?.owner;
}

function pathFault(reference: Reference, site: Site): string | undefined {
  const { definition, places } = site.index;
  switch (reference.root) {
    case 'workflow_input':
      return definition.input === undefined ? undefined : impossiblePath(definition.input, reference.path);
    case 'run':
      return impossiblePath(site.seesItself === true ? undoSchema : runSchema, reference.path);
    case 'step': {
      const target = places.get(reference.stepId);
      if (target === undefined || site.index.duplicates.includes(reference.stepId)) return undefined;
      const schema = outputSchemaOf(target.step, site.types);
      return schema === undefined ? undefined : impossiblePath(schema, reference.path);
    }
    case 'loop_item':
    case 'loop_index':
    case 'input':
    case 'secret':
      return undefined;
  }
}

/** What `{{run…}}` offers; see the runner's scope. */
const runFacts: { readonly [name: string]: Json } = {
  id: { type: 'string' },
  workflowId: { type: 'string' },
  version: { type: 'integer' },
  startedBy: { type: 'object', properties: { kind: { type: 'string' }, id: { type: 'string' } }, additionalProperties: false },
  createdAt: { type: 'number' },
  businessKey: { type: 'string' },
};
const runSchema: Json = { type: 'object', properties: runFacts, additionalProperties: false };

/** A compensation also sees what it undoes: by this key the step's attempts were known to the target. */
const undoes: Json = {
  type: 'object',
  properties: { key: { type: 'string' }, outcome: { enum: ['succeeded', 'unknown'] }, idempotencyKey: { type: 'string' } },
  additionalProperties: false,
};
const undoSchema: Json = { type: 'object', properties: { ...runFacts, undoes }, additionalProperties: false };
