import { definitionLimits } from '../model/definition.ts';
import type { Definition } from '../model/definition.ts';
import { KilnError } from '../model/errors.ts';
import type { DefinitionIndex } from './definition-index.ts';
import { byteLength, canonicalJson } from './json.ts';
import type { StepTypeCatalog } from './output-schema.ts';
import { tooLarge } from './parse-definition.ts';
import { checkStep } from './preflight-step.ts';
import { allSteps } from './preflight-walk.ts';
import type { Stand } from './preflight-walk.ts';
import { checkWorkflow, statesOf } from './preflight-workflow.ts';
import type { Problem } from './problem.ts';

export { parseDefinition } from './parse-definition.ts';
export type { StepTypeCatalog, StepTypeFacts } from './output-schema.ts';

/**
 * Everything that can be known to be wrong with a definition of the right form before it runs: all problems at once, in the order
 * of the text, each with its JSON path (`steps[2].branches.left[0].prompt`) and words that say what to write instead.
 */
export function checkDefinition(index: DefinitionIndex, types: StepTypeCatalog): Problem[] {
  const { definition } = index;
  const size = checkSize(definition);
  const steps = allSteps(definition);
  const states = statesOf(definition);
  return [
    ...size,
    ...(definition.steps.length === 0
      ? [{ path: 'steps', code: 'definition.invalid', message: 'the workflow has no steps; add one' } as const]
      : []),
    ...checkDepth(steps),
    ...checkDuplicates(steps),
    ...checkWorkflow(index, steps, types),
    ...steps.flatMap((stand) => checkStep({ stand, index, types, states })),
  ];
}

function checkSize(definition: Definition): Problem[] {
  try {
    const size = byteLength(canonicalJson(definition));
    return size > definitionLimits.maxDefinitionBytes ? [tooLarge(size)] : [];
  } catch (error) {
    if (error instanceof KilnError) return [{ path: '', code: 'definition.invalid', message: error.message }];
    throw error;
  }
}

/** The outermost steps that are nested too deeply; what is inside them is so as well. */
function checkDepth(steps: readonly Stand[]): Problem[] {
  return steps
    .filter(({ frames, position }) => frames.length === definitionLimits.maxNesting && position === 0)
    .map(({ path }) => ({
      path,
      code: 'definition.invalid',
      message: `steps are nested deeper than ${definitionLimits.maxNesting} levels here; move the inner ones into a subworkflow`,
    }));
}

function checkDuplicates(steps: readonly Stand[]): Problem[] {
  const first = new Map<string, string>();
  return steps.flatMap(({ step, path }) => {
    const before = first.get(step.id);
    if (before === undefined) {
      first.set(step.id, path);
      return [];
    }
    const message = `step id "${step.id}" stands twice, also at ${before}; ids are unique in the whole workflow, so rename one`;
    return [{ path: `${path}.id`, code: 'definition.invalid' as const, message }];
  });
}
