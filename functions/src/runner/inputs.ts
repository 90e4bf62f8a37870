import { commonStepFields, inputMappingSchema } from '../model/definition.ts';
import type { InputMapping, StepConfig } from '../model/definition.ts';
import { referencesIn, resolveTemplates } from '../engine/templates.ts';
import type { Reference } from '../engine/templates.ts';
import type { Json } from '../engine/json.ts';

/** What the engine reads itself, as it stands; `effectKey` and the type's own fields hold templates. */
function isForEngine(field: string): boolean {
  return field === 'type' || (field !== 'effectKey' && commonStepFields.has(field));
}

export interface StepTemplates {
  /** The type's own fields, templates unresolved. */
  readonly fields: { readonly [field: string]: Json };
  /** Named inputs as templates; literal values stand in `literals`. */
  readonly inputs: { readonly [name: string]: Json };
  readonly literals: { readonly [name: string]: Json };
  readonly references: readonly Reference[];
}

/** Splits a step's configuration into what is filled in from earlier results and what stands as it is. */
export function templatesOf(step: StepConfig, literalFields: readonly string[]): StepTemplates {
  const own = Object.entries(step).filter(([field]) => !isForEngine(field)) as [string, Json][];
  const fields = Object.fromEntries(own.filter(([field]) => !literalFields.includes(field)));
  const literals: [string, Json][] = own.filter(([field]) => literalFields.includes(field));
  const inputs: [string, Json][] = [];
  for (const [name, value] of Object.entries(step.inputs ?? {})) {
    const mapping = inputMappingSchema.safeParse(value);
    if (!mapping.success) inputs.push([name, value]);
    else if (mapping.data.source === 'static') literals.push([`inputs.${name}`, mapping.data.value]);
    else inputs.push([name, mappingTemplate(mapping.data)]);
  }
  const templates = Object.fromEntries(inputs);
  return {
    fields,
    inputs: templates,
    literals: Object.fromEntries(literals),
    references: [...referencesIn(fields), ...referencesIn(templates)],
  };
}

type Mapping = Exclude<InputMapping, { readonly source: 'static' }>;

/** A mapping is another way to write a template. */
function mappingTemplate(mapping: Mapping): string {
  const fallback = mapping.default === undefined ? '' : ` | default: ${JSON.stringify(mapping.default)}`;
  switch (mapping.source) {
    case 'workflowInput':
      return `{{workflow_input${suffix(mapping.path)}${fallback}}}`;
    case 'previousStep':
      return `{{step.${mapping.stepId}${suffix(mapping.path)}${fallback}}}`;
    case 'loopItem':
      return `{{loop_item${suffix(mapping.path)}${fallback}}}`;
  }
}

function suffix(path: string | undefined): string {
  if (path === undefined || path === '') return '';
  return path.startsWith('[') ? path : `.${path}`;
}

export interface Resolved {
  readonly config: { readonly [field: string]: Json };
  readonly input: { readonly [name: string]: Json };
}

/** @param secretFields where `{{secret.NAME}}` stays in place until the call; anywhere else it is an error */
export function resolveStep(
  step: StepConfig,
  templates: StepTemplates,
  lookup: (reference: Reference) => Json | undefined,
  secretFields: readonly string[],
): Resolved {
  const [sealed, plain] = partition(templates.fields, (field) => secretFields.includes(field));
  const fields = {
    ...filled(plain, lookup, false),
    ...filled(sealed, lookup, true),
  };
  const mapped = filled(templates.inputs, lookup, secretFields.includes('inputs'));
  const config: { [field: string]: Json } = { ...(step as unknown as { [field: string]: Json }), ...fields };
  const input = { ...mapped };
  for (const [name, value] of Object.entries(templates.literals)) {
    if (name.startsWith('inputs.')) input[name.slice('inputs.'.length)] = value;
    else config[name] = value;
  }
  return { config, input };
}

type Fields = { readonly [field: string]: Json };

function filled(fields: Fields, lookup: (reference: Reference) => Json | undefined, keepSecrets: boolean): { [field: string]: Json } {
  return resolveTemplates(fields, lookup, { keepSecrets }) as { [field: string]: Json };
}

function partition(fields: Fields, test: (field: string) => boolean): [Fields, Fields] {
  const entries = Object.entries(fields);
  return [Object.fromEntries(entries.filter(([field]) => test(field))), Object.fromEntries(entries.filter(([field]) => !test(field)))];
}
