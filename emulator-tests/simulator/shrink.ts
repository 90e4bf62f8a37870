import type { StepConfig } from '../../functions/src/model/definition.ts';
import type { FaultRates } from './faults.ts';
import type { Act } from './programs.ts';
import type { Scenario } from './scenario.ts';
import { runSeed } from './simulate.ts';
import type { Result } from './simulate.ts';

export interface Shrunk {
  readonly result: Result;
  /** What could be left out. */
  readonly without: readonly string[];
  readonly tries: number;
}

interface Case {
  readonly seed: number;
  readonly scenario: Scenario;
  readonly faults: FaultRates;
}

/** Seeds near the failing one that are tried for a smaller scenario: another scenario means another schedule. */
const NEIGHBOURS = 12;
const TRIES_MAX = 1_500;

/** Makes a failing schedule smaller: fewer kinds of faults, fewer runs, fewer steps, as long as the same invariant breaks. */
export async function shrink(seed: number): Promise<Shrunk> {
  let result = await runSeed(seed);
  const wanted = result.failure?.invariant;
  if (wanted === undefined) return { result, without: [], tries: 1 };
  let best: Case = { seed, scenario: result.scenario, faults: result.faults };
  const without: string[] = [];
  let tries = 1;
  const fails = async (candidate: Case): Promise<Case | undefined> => {
    for (let n = 0; n < NEIGHBOURS && tries < TRIES_MAX; n += 1) {
      const tried: Case = { ...candidate, seed: candidate.seed + n };
      tries += 1;
      const next = await runSeed(tried.seed, tried);
      if (next.failure?.invariant !== wanted) continue;
      result = next;
      return tried;
    }
    return undefined;
  };
  for (let smaller = true; smaller;) {
    smaller = false;
    for (const [name, candidate] of candidates(best)) {
      const found = await fails(candidate);
      if (found === undefined) continue;
      best = found;
      without.push(name);
      smaller = true;
      break;
    }
  }
  return { result: await runSeed(best.seed, { ...best, tracing: true }), without, tries };
}

function* candidates(now: Case): Generator<readonly [string, Case]> {
  const { scenario, faults } = now;
  for (const name of Object.keys(faults) as (keyof FaultRates)[]) {
    if (faults[name] > 0) yield [`the fault ${name}`, { ...now, faults: { ...faults, [name]: 0 } }];
  }
  if (scenario.halts) yield ['the kill switch', { ...now, scenario: { ...scenario, halts: false } }];
  if (scenario.punctual) yield ['punctuality', { ...now, scenario: { ...scenario, punctual: false } }];
  if (scenario.wishes.length > 1) {
    for (const wish of scenario.wishes) {
      const wishes = scenario.wishes.filter((other) => other !== wish);
      yield [`the run ${wish.accountId}/${wish.runId}`, { ...now, scenario: { ...scenario, wishes } }];
    }
  }
  for (const definition of scenario.definitions) {
    for (const [id, steps] of shorterSteps(definition.steps)) {
      const definitions = scenario.definitions.map((other) => (other === definition ? { ...definition, steps } : other));
      yield [`the step ${definition.id}/${id}`, { ...now, scenario: { ...scenario, definitions } }];
    }
  }
  for (const program of scenario.programs) {
    for (const acts of shorterActs(program.acts)) {
      const programs = scenario.programs.map((other) => (other === program ? { ...program, acts } : other));
      yield [`an act of ${program.id}`, { ...now, scenario: { ...scenario, programs } }];
    }
  }
}

/** The list without one of its steps, or with one of its steps made smaller. */
function* shorterSteps(steps: readonly StepConfig[]): Generator<readonly [string, readonly StepConfig[]]> {
  if (steps.length > 1) for (const step of steps) yield [step.id, steps.filter((other) => other !== step)];
  for (const [i, step] of steps.entries()) {
    const fields = step as unknown as Record<string, unknown>;
    const within = (field: string, value: unknown): readonly StepConfig[] => steps.with(i, { ...fields, [field]: value } as StepConfig);
    for (const field of ['then', 'else', 'steps'] as const) {
      const list = fields[field] as readonly StepConfig[] | undefined;
      for (const [id, shorter] of shorterSteps(list ?? [])) yield [id, within(field, shorter)];
    }
    for (const field of ['branches', 'onException'] as const) {
      const lists = (fields[field] ?? {}) as Readonly<Record<string, readonly StepConfig[]>>;
      for (const [name, list] of Object.entries(lists)) {
        const { [name]: _left, ...others } = lists;
        if (field === 'onException' || Object.keys(others).length > 0) yield [`${step.id}.${name}`, within(field, others)];
        for (const [id, shorter] of shorterSteps(list)) yield [id, within(field, { ...lists, [name]: shorter })];
      }
    }
  }
}

function* shorterActs(acts: readonly Act[]): Generator<readonly Act[]> {
  if (acts.length > 1) for (const act of acts) yield acts.filter((other) => other !== act);
  for (const [i, act] of acts.entries()) {
    switch (act.do) {
      case 'if':
        for (const list of [act.then, act.else]) yield acts.toSpliced(i, 1, ...list);
        break;
      case 'each':
      case 'try':
        yield acts.toSpliced(i, 1, ...act.body);
        for (const body of shorterActs(act.body)) yield acts.with(i, { ...act, body });
        break;
      case 'all':
        if (act.branches.length > 1)
          for (const one of act.branches) yield acts.with(i, { ...act, branches: act.branches.filter((other) => other !== one) });
        for (const [n, list] of act.branches.entries())
          for (const shorter of shorterActs(list)) yield acts.with(i, { ...act, branches: act.branches.with(n, shorter) });
        break;
      default:
    }
  }
}
