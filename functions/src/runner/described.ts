import type { Json } from '../engine/json.ts';
import { starterTag, tagOf } from '../engine/tags.ts';
import { resolveTemplates } from '../engine/templates.ts';
import type { Definition } from '../model/definition.ts';
import type { RunRecord } from '../model/run.ts';
import { runFacts } from './scope-reader.ts';

const TEXT_MAX = 200;

/** By what people find the run: its business key and its attributes, filled in from the input. */
export function describedBy(
  { businessKey, attributes }: Pick<Definition, 'businessKey' | 'attributes'>,
  run: RunRecord,
  input: Json,
): Pick<RunRecord, 'businessKey' | 'attributes' | 'tags'> {
  const filled = (template: string): string => {
    const value = resolveTemplates(template, (reference) =>
      reference.root === 'workflow_input' ? input : reference.root === 'run' ? runFacts(run) : undefined,
    );
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return text.slice(0, TEXT_MAX);
  };
  const described =
    attributes === undefined ? undefined : Object.fromEntries(Object.entries(attributes).map(([name, text]) => [name, filled(text)]));
  return {
    ...(businessKey === undefined ? {} : { businessKey: filled(businessKey) }),
    ...(described === undefined
      ? {}
      : {
          attributes: described,
          tags: [starterTag(run.startedBy), ...Object.entries(described).map(([name, value]) => tagOf(name, value))],
        }),
  };
}
