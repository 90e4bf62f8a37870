import type { DefinitionIndex } from '../engine/definition-index.ts';
import { canonicalJson, parseJson } from '../engine/json.ts';
import { referencesIn, resolveTemplates } from '../engine/templates.ts';
import type { Held } from '../ledger/steps.ts';
import type { Runtime } from './runtime.ts';
import { readScope } from './scope-reader.ts';

/** How the run's output follows from its last step's: the definition's `output` template, or the last output itself. */
export function runOutputOf(runtime: Runtime, ending: Held, index: DefinitionIndex): (output: string) => Promise<string> {
  return async (output) => {
    const template = index.definition.output;
    if (template === undefined) return output;
    const known = new Map([[ending.record.stepId, parseJson(output)]]);
    const references = referencesIn(template);
    const scope = await readScope(runtime.store, { ref: ending.record, index, place: undefined, loops: [] }, { references, known });
    return canonicalJson(resolveTemplates(template, (reference) => scope.lookup(reference)));
  };
}
