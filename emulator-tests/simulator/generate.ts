import { definitionSchema } from '../../functions/src/model/definition.ts';
import type { Definition } from '../../functions/src/model/definition.ts';
import type { SeededRandom } from './random.ts';

/** JSON of a step; the schema checks it afterwards. */
type Step = Record<string, unknown> & { readonly id: string };

export interface GenerateOptions {
  /** Leaves out what races with time, so that an oracle can tell the outcome. */
  readonly deterministic: boolean;
  /** Ids of other workflows that may be called. */
  readonly children: readonly string[];
  readonly small: boolean;
}

interface State {
  readonly random: SeededRandom;
  readonly options: GenerateOptions;
  n: number;
  left: number;
}

/** A random workflow of every step type, nested up to four levels, that passes pre-flight. */
export function generateDefinition(id: string, random: SeededRandom, options: GenerateOptions): Definition {
  const state: State = { random, options, n: 0, left: options.small ? 1 + random.int(3) : 2 + random.int(10) };
  const steps = list(state, 0, false, []);
  const onError = random.chance(0.2) ? { onError: 'continue' } : {};
  return definitionSchema.parse({ id, steps, timeout: '30d', ...onError });
}

function list(state: State, depth: number, inLoop: boolean, before: readonly string[]): Step[] {
  const count = 1 + state.random.int(depth === 0 ? 5 : 3);
  const steps: Step[] = [];
  const seen = [...before];
  for (let i = 0; i < count && (state.left > 0 || steps.length === 0); i += 1) {
    const made = step(state, depth, inLoop, seen);
    steps.push(made);
    seen.push(made.id);
  }
  return steps;
}

function step(state: State, depth: number, inLoop: boolean, before: readonly string[]): Step {
  const { random } = state;
  state.left -= 1;
  const id = `s${(state.n += 1)}`;
  const deep = depth < 3 && state.left > 0;
  const kinds = [
    'transform',
    'action',
    'action',
    'charge',
    'wait',
    'fail',
    'approval',
    'event',
    ...(state.options.children.length > 0 ? ['child'] : []),
  ];
  const kind = random.pick(deep ? [...kinds, 'condition', 'loop', 'parallel', 'loop', 'parallel'] : kinds);
  const made = { ...body(state, kind, id, depth, inLoop, before), ...tolerance(state, kind, depth, inLoop, before) };
  return made;
}

function body(state: State, kind: string, id: string, depth: number, inLoop: boolean, before: readonly string[]): Step {
  const { random, options } = state;
  const value = (): unknown => {
    const choices: unknown[] = [random.int(100), `{{workflow_input.n}}`, { deep: ['{{workflow_input.text}}', random.int(9)] }];
    const earlier = before.at(random.int(Math.max(1, before.length)));
    if (earlier !== undefined) choices.push({ from: `{{step.${earlier} | default: "none"}}` });
    if (inLoop) choices.push('{{loop_item}}', { i: '{{loop_index}}' });
    return random.pick(choices);
  };
  switch (kind) {
    case 'transform':
      return { id, type: 'transform', value: value() };
    case 'action':
      return {
        id,
        type: 'action',
        action: 'keyed',
        inputs: { v: value() },
        timeout: '20s',
        retry: { maxAttempts: options.deterministic ? 100 : 1 + random.int(4) },
      };
    case 'charge':
      // What became of it is a person's to say, so it has no place where the outcome must be known.
      if (options.deterministic) return { id, type: 'transform', value: value() };
      return { id, type: 'action', action: 'charge', inputs: { v: value() }, timeout: '20s' };
    case 'wait':
      return { id, type: 'wait', for: random.pick(['1s', '10s', '5m', '3h', '9d', '40d']) };
    case 'fail':
      return random.chance(0.7) ? { id, type: 'fail', code: random.pick(['alpha', 'beta']) } : { id, type: 'transform', value: value() };
    case 'approval':
      return {
        id,
        type: 'approval',
        title: `Decide ${id}`,
        approvers: { users: ['ann', 'bob', 'cid'] },
        fourEyes: false,
        deadline: options.deterministic ? '300d' : random.pick(['1m', '1h', '3d']),
        onDeadline: random.pick(['fail', 'reject', 'approve']),
        onReject: random.pick(['exception', 'continue']),
      };
    case 'event':
      return {
        id,
        type: 'wait',
        event: { name: `ev-${id}`, ...(random.chance(0.5) ? { key: `{{workflow_input.text}}` } : {}) },
        timeout: options.deterministic ? '300d' : random.pick(['30s', '1h', '2d']),
        onTimeout: random.pick(['continue', 'fail']),
      };
    case 'child':
      return {
        id,
        type: 'subworkflow',
        workflow: random.pick(options.children),
        inputs: { n: random.int(5), text: 'child', items: [1, 2] },
      };
    case 'condition':
      return {
        id,
        type: 'condition',
        if: random.pick(['workflow_input.n > 2', 'workflow_input.text == "x"', 'size(workflow_input.items) > 1', 'true', 'false']),
        then: list(state, depth + 1, inLoop, before),
        ...(random.chance(0.6) ? { else: list(state, depth + 1, inLoop, before) } : {}),
      };
    case 'loop':
      return {
        id,
        type: 'loop',
        over: random.chance(0.6)
          ? { source: 'workflowInput', path: 'items' }
          : { source: 'static', items: Array.from({ length: random.int(6) }, (_, i) => i) },
        concurrency: random.pick([1, 1, 2, 3, 20]),
        onItemError: random.pick(['fail', 'continue']),
        steps: list(state, depth + 1, true, before),
      };
    default: {
      const names = ['left', 'right', 'mid'].slice(0, 1 + random.int(3));
      return {
        id,
        type: 'parallel',
        // Which branch comes first is a race, so an oracle cannot tell it.
        policy: random.pick(options.deterministic ? ['settled'] : ['settled', 'all', 'all', 'any']),
        branches: Object.fromEntries(names.map((name) => [name, list(state, depth + 1, inLoop, before)])),
      };
    }
  }
}

function tolerance(state: State, kind: string, depth: number, inLoop: boolean, before: readonly string[]): Record<string, unknown> {
  const { random } = state;
  const more: Record<string, unknown> = {};
  if (random.chance(0.2)) more['continueOnError'] = true;
  const throws = kind === 'fail' || kind === 'approval' || kind === 'loop' || kind === 'parallel';
  if (throws && random.chance(kind === 'parallel' ? 0.6 : 0.4) && depth < 4) {
    const path = list(state, depth + 1, inLoop, before);
    // A path that takes its time: whatever comes late for the step itself meets it under way.
    if (random.chance(0.4)) path.unshift({ id: `s${(state.n += 1)}`, type: 'wait', for: random.pick(['10s', '5m', '3h']) });
    more['onException'] = random.chance(0.5) ? { alpha: path } : { '*': path };
  }
  return more;
}
