import { noFaults } from './faults.ts';
import { runSeed } from './simulate.ts';
import type { Result } from './simulate.ts';
import type { Scenario } from './scenario.ts';

export const singleFaults = ['crash before', 'crash after', 'lost reply'] as const;

export interface Sweep {
  /** Operations of the undisturbed run. */
  readonly operations: number;
  readonly runs: number;
  readonly failures: readonly { readonly at: number; readonly fault: string; readonly failure: NonNullable<Result['failure']> }[];
}

/** Tries every single fault at every operation: complete, no luck needed. */
export async function sweep(scenario: Scenario, seed: number): Promise<Sweep> {
  const undisturbed = await runSeed(seed, { scenario, faults: noFaults });
  if (undisturbed.failure !== undefined)
    return { operations: undisturbed.operations, runs: 1, failures: [{ at: 0, fault: 'none', failure: undisturbed.failure }] };
  const failures: Sweep['failures'][number][] = [];
  let runs = 1;
  for (let at = 1; at <= undisturbed.operations; at += 1) {
    for (const fault of singleFaults) {
      const { failure } = await runSeed(seed, { scenario, faults: noFaults, planned: { at, fault } });
      runs += 1;
      if (failure !== undefined) failures.push({ at, fault, failure });
    }
  }
  return { operations: undisturbed.operations, runs, failures };
}
