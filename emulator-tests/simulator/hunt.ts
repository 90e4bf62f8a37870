import { pathToFileURL } from 'node:url';
import { Counters } from './faults.ts';
import type { FaultName, OperationName } from './faults.ts';
import { runSeed } from './simulate.ts';

export interface Find {
  readonly seed: number;
  readonly invariant: string;
  readonly message: string;
}

/** What came of many schedules. Plain data: it is passed between processes. */
export interface Hunt {
  readonly schedules: number;
  readonly operations: number;
  readonly deliveries: number;
  readonly faults: readonly (readonly [FaultName, number])[];
  readonly succeeded: readonly (readonly [OperationName, number])[];
  readonly finds: readonly Find[];
}

export interface HuntOptions {
  readonly from: number;
  readonly schedules: number;
  /** Stops at the first violation. */
  readonly first: boolean;
}

/** Plays schedules with rising seeds. */
export async function hunt({ from, schedules, first }: HuntOptions): Promise<Hunt> {
  const counters = new Counters();
  const finds: Find[] = [];
  let operations = 0;
  let deliveries = 0;
  let done = 0;
  const most = (): number => (first && finds.length > 0 ? 0 : schedules);
  for (; done < most(); done += 1) {
    const seed = from + done;
    const result = await runSeed(seed);
    counters.add(result.counters);
    operations += result.operations;
    deliveries += result.deliveries;
    if (result.failure !== undefined) finds.push({ seed, ...result.failure });
  }
  return { schedules: done, operations, deliveries, faults: [...counters.faults], succeeded: [...counters.operations], finds };
}

/** Adds up what several processes found. */
export function together(hunts: readonly Hunt[]): { readonly hunt: Hunt; readonly counters: Counters } {
  const counters = new Counters();
  for (const { faults, succeeded } of hunts) {
    const one = new Counters();
    for (const [name, n] of faults) one.faults.set(name, n);
    for (const [name, n] of succeeded) one.operations.set(name, n);
    counters.add(one);
  }
  const sum = (of: (one: Hunt) => number): number => hunts.reduce((total, one) => total + of(one), 0);
  return {
    counters,
    hunt: {
      schedules: sum((one) => one.schedules),
      operations: sum((one) => one.operations),
      deliveries: sum((one) => one.deliveries),
      faults: [...counters.faults],
      succeeded: [...counters.operations],
      finds: hunts.flatMap((one) => one.finds),
    },
  };
}

// As a process of its own: `node hunt.ts FROM SCHEDULES [first]`; the answer is one line of JSON.
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [from = '1', schedules = '100', first] = process.argv.slice(2);
  const found = await hunt({ from: Number(from), schedules: Number(schedules), first: first === 'first' });
  process.stdout.write(`${JSON.stringify(found)}\n`);
}
