import { inputMappingSchema } from '../model/definition.ts';
import type { Definition, StepConfig } from '../model/definition.ts';
import type { Json } from './json.ts';
import type { Place } from './definition-index.ts';
import { parsePath, templatesIn } from './templates.ts';
import type { PathSegment, Reference } from './templates.ts';

type Places = ReadonlyMap<string, Place>;

/** What of a definition only operators and named approvers may see. */
export interface Sensitivity {
  /** Steps that say so themselves, or that a sensitive value reaches. */
  readonly steps: ReadonlySet<string>;
  readonly output: boolean;
  /** Whether a value with these templates has something of it in it. Place: where it stands. */
  reaches(value: Json, place?: Place): boolean;
}

/**
 * Follows the sensitive fields of the input through the definition: a step that refers to one, or to the output of a step that
 * does, is as sensitive as the field. A condition only tells which way it went.
 */
export function sensitivityOf(definition: Definition, places: Places): Sensitivity {
  const fields = (definition.sensitive ?? []).map(pathOf);
  const steps = new Set([...places.values()].filter(({ step }) => step.sensitive === true).map(({ step }) => step.id));
  const items = new Set<string>();
  const isSensitive = (reference: Reference, place: Place | undefined): boolean => {
    switch (reference.root) {
      case 'workflow_input':
        return fields.some((field) => overlap(field, reference.path));
      case 'step':
        return steps.has(reference.stepId);
      case 'loop_item':
        return items.has(loopAround(place) ?? '');
      case 'loop_index':
      case 'run':
      case 'input':
      case 'secret':
        return false;
    }
  };
  const reaches = (value: Json, place?: Place): boolean => referencesOf(value).some((reference) => isSensitive(reference, place));
  for (let grown = fields.length + steps.size > 0; grown;) {
    const before = steps.size + items.size;
    for (const place of places.values()) {
      const { step } = place;
      if (step.type === 'loop' && over(step['over']).some((reference) => isSensitive(reference, place))) items.add(step.id);
      if (step.type !== 'condition' && (items.has(step.id) || reaches(ownText(step), place))) steps.add(step.id);
      if (steps.has(step.id)) for (const owner of collectors(place)) steps.add(owner);
    }
    grown = steps.size + items.size > before;
  }
  const any = fields.length + steps.size > 0;
  return { steps, output: any && definition.output !== undefined && reaches(definition.output), reaches };
}

function pathOf(field: string): readonly PathSegment[] {
  try {
    return parsePath(field);
  } catch {
    return [field];
  }
}

/** One of the two contains the other. */
function overlap(a: readonly PathSegment[], b: readonly PathSegment[]): boolean {
  return a.every((segment, i) => i >= b.length || String(b[i]) === String(segment));
}

function loopAround(place: Place | undefined): string | undefined {
  return place?.frames.findLast(({ part }) => part === 'item')?.owner;
}

/** The loops and parallels whose output is made of the step's. */
function collectors({ frames }: Place): readonly string[] {
  return frames.filter(({ part }) => part === 'item' || part === 'branch').map(({ owner }) => owner);
}

/** Where steps stand inside a step of that type; a condition has nothing else in it that counts. */
const listFields: Readonly<Partial<Record<string, readonly string[]>>> = {
  loop: ['steps', 'over'],
  parallel: ['branches'],
};

/** A step's configuration without the steps inside it. */
function ownText(step: StepConfig): Json {
  const lists = ['onException', ...(listFields[step.type] ?? [])];
  return Object.fromEntries(Object.entries(step).filter(([field]) => !lists.includes(field))) as Json;
}

function over(source: unknown): readonly Reference[] {
  const { source: kind, path, stepId, items } = source as { source: string; path?: string; stepId?: string; items?: Json };
  const at = { path: [...pathOf(path ?? '')], text: '' };
  if (kind === 'workflowInput') return [{ root: 'workflow_input', ...at }];
  if (kind === 'previousStep') return [{ root: 'step', stepId: stepId ?? '', ...at }];
  return kind === 'loopItem' ? [{ root: 'loop_item', ...at }] : referencesOf(items ?? null);
}

/** References of templates, and of mappings wherever they stand. */
function referencesOf(value: Json): readonly Reference[] {
  return [...templatesIn(value).references.map(({ reference }) => reference), ...mappingsIn(value)];
}

function mappingsIn(value: Json): readonly Reference[] {
  if (typeof value !== 'object' || value === null) return [];
  const mapping = inputMappingSchema.safeParse(value);
  if (mapping.success) return over(mapping.data);
  return Object.values(value).flatMap((inner: Json) => mappingsIn(inner));
}
