import type { Json } from '../../functions/src/engine/json.ts';
import type { SeededRandom } from './random.ts';

/** What a random code workflow does, as data: the same program is executed by the engine and read by the oracle. */
export type Act =
  | { readonly do: 'call'; readonly name: string; readonly system: 'keyed' | 'charge'; readonly value: Json }
  | { readonly do: 'fail'; readonly name: string; readonly code: string }
  | { readonly do: 'sleep'; readonly name: string; readonly for: string }
  | { readonly do: 'event'; readonly name: string; readonly key: boolean; readonly timeout: string }
  | { readonly do: 'approval'; readonly name: string; readonly quorum: 'any' | 'all' | number; readonly deadline: string }
  | { readonly do: 'count'; readonly name: string }
  | { readonly do: 'invoke'; readonly name: string; readonly workflow: string; readonly n: number }
  | { readonly do: 'send'; readonly name: string; readonly event: string }
  | { readonly do: 'passing'; readonly what: 'now' | 'random' | 'uuid' }
  | { readonly do: 'throw'; readonly code: string }
  | { readonly do: 'undo'; readonly name: string }
  | { readonly do: 'if'; readonly over: number; readonly then: readonly Act[]; readonly else: readonly Act[] }
  | { readonly do: 'each'; readonly times: number; readonly body: readonly Act[] }
  | { readonly do: 'try'; readonly body: readonly Act[]; readonly caught: readonly Act[] }
  | { readonly do: 'all'; readonly branches: readonly (readonly Act[])[] }
  | { readonly do: 'race'; readonly name: string; readonly branches: readonly Act[] };

export interface Program {
  readonly id: string;
  readonly acts: readonly Act[];
}

interface State {
  readonly random: SeededRandom;
  readonly deterministic: boolean;
  readonly children: readonly string[];
  n: number;
  left: number;
}

export function generateProgram(
  id: string,
  random: SeededRandom,
  options: { deterministic: boolean; children: readonly string[]; small: boolean },
): Program {
  const state: State = { random, ...options, n: 0, left: options.small ? 1 + random.int(3) : 2 + random.int(10) };
  const acts = list(state, 0);
  // Often there is something to undo, and a reason to.
  if (!state.deterministic && random.chance(0.25)) {
    acts.unshift({ do: 'undo', name: `s${(state.n += 1)}` });
    acts.push({ do: 'fail', name: `s${(state.n += 1)}`, code: 'beta' });
  }
  return { id, acts };
}

function list(state: State, depth: number): Act[] {
  const acts: Act[] = [];
  const count = 1 + state.random.int(depth === 0 ? 5 : 3);
  for (let i = 0; i < count && (state.left > 0 || acts.length === 0); i += 1) acts.push(act(state, depth));
  return acts;
}

function act(state: State, depth: number): Act {
  const { random, deterministic } = state;
  state.left -= 1;
  const name = `s${(state.n += 1)}`;
  const leaf = [
    'call',
    'call',
    'charge',
    'fail',
    'sleep',
    'event',
    'approval',
    'count',
    'count',
    'send',
    'passing',
    'throw',
    ...(state.children.length > 0 ? ['invoke'] : []),
    ...(deterministic ? [] : ['undo']),
  ];
  const nested = ['if', 'each', 'try', 'all', 'all', ...(deterministic ? [] : ['race', 'race'])];
  const kind = random.pick(depth < 3 && state.left > 0 ? [...leaf, ...nested, ...nested] : leaf);
  switch (kind) {
    case 'if':
      return { do: 'if', over: random.int(6), then: list(state, depth + 1), else: list(state, depth + 1) };
    case 'each':
      return { do: 'each', times: random.int(4), body: list(state, depth + 1) };
    case 'try':
      return { do: 'try', body: list(state, depth + 1), caught: list(state, depth + 1) };
    case 'all':
      return { do: 'all', branches: Array.from({ length: 1 + random.int(random.chance(0.1) ? 12 : 4) }, () => branch(state, depth + 1)) };
    case 'race':
      return { do: 'race', name, branches: Array.from({ length: 2 + random.int(2) }, () => simple(state)) };
    default:
      return single(state, kind, name);
  }
}

/** Which of several branches fails first is a race, so where the outcome must be known, none of them may. */
function branch(state: State, depth: number): readonly Act[] {
  const acts = list(state, depth);
  return state.deterministic ? [{ do: 'try', body: acts, caught: [] }] : acts;
}

/** Only steps themselves can race. */
function simple(state: State): Act {
  return single(state, state.random.pick(['call', 'sleep', 'event', 'approval', 'count', 'fail']), `s${(state.n += 1)}`);
}

function single({ random, deterministic, children }: State, kind: string, name: string): Act {
  switch (kind) {
    case 'charge':
      return { do: 'call', name, system: deterministic ? 'keyed' : 'charge', value: random.int(100) };
    case 'fail':
      return { do: 'fail', name, code: random.pick(['alpha', 'beta']) };
    case 'sleep':
      return { do: 'sleep', name, for: random.pick(['1s', '10s', '5m', '3h', '9d', '40d']) };
    case 'event':
      return { do: 'event', name, key: random.chance(0.5), timeout: deterministic ? '300d' : random.pick(['30s', '1h', '2d']) };
    case 'approval':
      return {
        do: 'approval',
        name,
        quorum: random.pick(['any', 'any', 'all', 2]),
        deadline: deterministic ? '300d' : random.pick(['1m', '1h', '3d']),
      };
    case 'count':
      return { do: 'count', name };
    case 'invoke':
      return { do: 'invoke', name, workflow: random.pick(children), n: random.int(6) };
    case 'send':
      return { do: 'send', name, event: `ev-s${1 + random.int(6)}` };
    case 'passing':
      return { do: 'passing', what: random.pick(['now', 'random', 'uuid']) };
    case 'throw':
      return random.chance(0.3) ? { do: 'throw', code: 'gamma' } : { do: 'call', name, system: 'keyed', value: random.int(100) };
    case 'undo':
      return { do: 'undo', name };
    default:
      return { do: 'call', name, system: 'keyed', value: random.int(100) };
  }
}
