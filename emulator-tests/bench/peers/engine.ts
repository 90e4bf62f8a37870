import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Where a peer is installed, and its server. */
export interface Place {
  readonly folder: string;
  readonly url: string;
  /** Restate only: where services are registered. */
  readonly adminUrl?: string;
}

export interface Order {
  readonly run: string;
  readonly steps: number;
}

/** A peer that is ready; `perform` resolves once the run has ended. */
export interface Engine {
  perform(order: Order): Promise<void>;
}

export const SHORT = 20;
export const LONG = 1_000;
export const AT_ONCE = 50;
export const ROUNDS = { warm: 5, short: 9, long: 3, rate: 3 } as const;

export interface Samples {
  readonly msPerStep: readonly number[];
  readonly msPerStep1000: readonly number[];
  readonly stepsPerSecond: readonly number[];
}

/** The same rounds for each peer and for Kiln. */
export async function measured(chain: (steps: number) => Promise<number>, run: (steps: number) => Promise<unknown>): Promise<Samples> {
  const repeat = async (rounds: number, work: () => Promise<number>): Promise<number[]> => {
    const values: number[] = [];
    for (let round = 0; round < rounds; round += 1) values.push(await work());
    return values;
  };
  await repeat(ROUNDS.warm, () => chain(SHORT));
  return {
    msPerStep: await repeat(ROUNDS.short, () => chain(SHORT)),
    msPerStep1000: await repeat(ROUNDS.long, () => chain(LONG)),
    stepsPerSecond: await repeat(ROUNDS.rate, async () => {
      const started = performance.now();
      await Promise.all(Array.from({ length: AT_ONCE }, () => run(SHORT)));
      return (AT_ONCE * SHORT) / ((performance.now() - started) / 1_000);
    }),
  };
}

export interface StepResult {
  readonly index: number;
  readonly text: string;
}

const begun = new Map<string, number[]>();

/** The straight workflow, the same for each peer and for Kiln: a step does nothing and returns a small result. */
export async function straight(
  { run, steps }: Order,
  step: (name: string, work: () => Promise<StepResult>) => Promise<StepResult>,
): Promise<void> {
  for (let index = 0; index < steps; index += 1) {
    await step(`step${index}`, () => {
      begun.get(run)?.push(performance.now());
      return Promise.resolve({ index, text: 'a small result, as a row or an answer is' });
    });
  }
}

/** Performs a run; ms from the beginning of one step to the beginning of the next, on average. */
export async function msPerStep(engine: Engine, order: Order): Promise<number> {
  const times: number[] = [];
  begun.set(order.run, times);
  await engine.perform(order);
  begun.delete(order.run);
  if (times.length !== order.steps) throw new Error(`a run of ${order.steps} steps began ${times.length}`);
  return ((times.at(-1) ?? 0) - (times[0] ?? 0)) / (order.steps - 1);
}

/** A package from the peer's own folder; the project does not depend on it, so the caller says what it uses of it. */
export async function installed<T>(folder: string, name: string): Promise<T> {
  const file = createRequire(join(folder, 'package.json')).resolve(name);
  return (await import(pathToFileURL(file).href)) as T;
}
