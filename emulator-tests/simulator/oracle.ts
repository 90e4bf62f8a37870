import { evaluateCondition } from '../../functions/src/engine/conditions.ts';
import type { Json } from '../../functions/src/engine/json.ts';
import { resolveTemplates } from '../../functions/src/engine/templates.ts';
import type { Reference } from '../../functions/src/engine/templates.ts';
import { expectedOf } from './code-oracle.ts';
import type { Program } from './programs.ts';
import type { Definition, StepConfig } from '../../functions/src/model/definition.ts';

/**
 * What a workflow comes to when its steps are done one after the other, without a database, retries or time: an independent
 * reading of the definition, for workflows whose outcome no race decides.
 */

export type Expected = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly code: string };

interface Scope {
  readonly input: Json;
  readonly outputs: ReadonlyMap<string, Json>;
  readonly item?: Json;
  readonly index?: number;
}

type Fields = Readonly<Record<string, Json>>;

export class Oracle {
  readonly #definitions: ReadonlyMap<string, Definition>;

  readonly #programs: ReadonlyMap<string, Program>;

  constructor(definitions: readonly Definition[], programs: readonly Program[]) {
    this.#definitions = new Map(definitions.map((definition) => [definition.id, definition]));
    this.#programs = new Map(programs.map((program) => [program.id, program]));
  }

  run(workflowId: string, input: Json): Expected {
    const program = this.#programs.get(workflowId);
    if (program !== undefined) {
      const { n } = input as { readonly n: number };
      return expectedOf(program, n, (child, inner) => this.run(child, { n: inner, text: 'child', items: [1, 2] }));
    }
    const definition = this.#definitions.get(workflowId);
    if (definition === undefined) return { ok: false, code: 'definition.not_found' };
    return this.#list(definition.steps, { input, outputs: new Map() }, definition.onError === 'continue');
  }

  /** The value of a list is that of the last thing done in it. */
  #list(steps: readonly StepConfig[], scope: Scope, tolerant = false): Expected {
    const outputs = new Map(scope.outputs);
    let last: Expected = { ok: true, value: null };
    for (const step of steps) {
      const { result, output } = this.#step(step, { ...scope, outputs });
      if (output !== undefined) outputs.set(step.id, output);
      if (!result.ok && !tolerant) return result;
      last = result.ok ? result : { ok: true, value: errorOf(result.code) };
    }
    return last;
  }

  /** `output` is what later steps see of it; `result` is how the path goes on. */
  #step(step: StepConfig, scope: Scope): { readonly result: Expected; readonly output?: Json } {
    const own = this.#own(step, scope);
    if (own.result.ok) return own;
    const output = own.output ?? errorOf(own.result.code);
    const paths = step.onException ?? {};
    const list = Object.hasOwn(paths, own.result.code) ? paths[own.result.code] : paths['*'];
    if (list !== undefined && isBusiness(own.result.code)) {
      const outputs = new Map(scope.outputs).set(step.id, output);
      const result = list.length === 0 ? { ok: true as const, value: output } : this.#list(list, { ...scope, outputs });
      return { result, output };
    }
    if (step.continueOnError === true) return { result: { ok: true, value: errorOf(own.result.code) }, output };
    return { result: own.result, output };
  }

  #own(step: StepConfig, scope: Scope): { readonly result: Expected; readonly output?: Json } {
    const fields = step as unknown as Fields;
    const fill = (value: Json | undefined): Json => resolveTemplates(value ?? null, (reference) => lookUp(reference, scope));
    const done = (value: Json) => ({ result: { ok: true as const, value }, output: value });
    switch (step.type) {
      case 'transform':
        return done(fill(fields['value']));
      case 'action':
        return done({ did: fill(fields['inputs']) });
      case 'fail':
        return { result: { ok: false, code: words(fields['code']) } };
      case 'wait':
        return done(fields['event'] === undefined ? { wokeAt: null } : eventOutput());
      case 'approval':
        return done(approvalOutput());
      case 'subworkflow': {
        const child = this.run(words(fields['workflow']), fill(fields['inputs']));
        if (child.ok) return done(child.value);
        return { result: { ok: false, code: isBusiness(child.code) ? child.code : 'step.child_failed' } };
      }
      case 'condition': {
        const { input, outputs, item, index } = scope;
        const variables = {
          workflow_input: input,
          step: Object.fromEntries(outputs),
          ...(item === undefined ? {} : { loop_item: item }),
          ...(index === undefined ? {} : { loop_index: index }),
        };
        const value = evaluateCondition(words(fields['if']), variables);
        const output = { branch: value ? 'then' : 'else', value };
        const list = (fields[output.branch] ?? []) as unknown as readonly StepConfig[];
        const result = list.length === 0 ? { ok: true as const, value: output } : this.#list(list, scope);
        return { result, output };
      }
      case 'loop':
        return this.#loop(fields, scope);
      default:
        return this.#parallel(fields, scope);
    }
  }

  #loop(fields: Fields, scope: Scope): { readonly result: Expected; readonly output?: Json } {
    const over = fields['over'] as Fields;
    const items = (over['source'] === 'static' ? over['items'] : (scope.input as Fields)[words(over['path'])]) as Json[];
    const body = fields['steps'] as unknown as readonly StepConfig[];
    const results = items.map((item, index) => this.#list(body, { ...scope, item, index }));
    const failed = results.find((result) => !result.ok);
    if (failed !== undefined && !failed.ok && fields['onItemError'] !== 'continue') {
      return { result: { ok: false, code: isBusiness(failed.code) ? failed.code : 'step.iteration_failed' } };
    }
    const value = results.map((result) => (result.ok ? result.value : errorOf(result.code)));
    return { result: { ok: true, value }, output: value };
  }

  #parallel(fields: Fields, scope: Scope): { readonly result: Expected; readonly output?: Json } {
    const branches = fields['branches'] as unknown as Readonly<Record<string, readonly StepConfig[]>>;
    const value = Object.fromEntries(
      Object.entries(branches).map(([name, list]): [string, Json] => {
        const result = this.#list(list, scope);
        return [
          name,
          result.ok ? { status: 'fulfilled', value: result.value } : { status: 'rejected', reason: { code: result.code, message: null } },
        ];
      }),
    );
    return { result: { ok: true, value }, output: value };
  }
}

function lookUp(reference: Reference, { input, outputs, item, index }: Scope): Json | undefined {
  switch (reference.root) {
    case 'workflow_input':
      return input;
    case 'step':
      return outputs.get(reference.stepId);
    case 'loop_item':
      return item;
    case 'loop_index':
      return index;
    default:
      // Nothing else is generated.
      return undefined;
  }
}

const isBusiness = (code: string): boolean => !code.includes('.');
const errorOf = (code: string): Json => ({ error: { code, message: null } });
const eventOutput = (): Json => ({ timedOut: false, event: { id: null, name: null, key: null, receivedAt: null, payload: { ok: true } } });
const approvalOutput = (): Json => ({
  outcome: 'approve',
  byDeadline: false,
  decisions: null,
  values: null,
  digest: null,
  requestedAt: null,
  decidedAt: null,
  waitedMs: null,
});

const BY_CHANCE: ReadonlySet<string> = new Set([
  'wokeAt',
  'id',
  'name',
  'key',
  'receivedAt',
  'decisions',
  'digest',
  'requestedAt',
  'decidedAt',
  'waitedMs',
  'message',
]);

/** Leaves out what depends on time, people and ids. */
export function comparable(value: Json): Json {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, BY_CHANCE.has(key) ? null : comparable(inner)]));
}

/** A field that the schema knows as text. */
function words(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
