import type { Installation } from '../installation.ts';
import { floorChains, kilnRun, kilnRuns, lasted, mean, median, quantiles, rateOf, stepTimes, watchedChain } from './measure.ts';
import { CHAIN, fixed, list, noop, ROUNDS, transform } from './parts.ts';
import type { Figures, PartResult } from './parts.ts';
import { stepsInARow } from './steps-in-a-row.ts';

interface Times {
  /** From step to step, the mean of a chain. */
  readonly steps: number[];
  readonly gaps: number[];
  /** From the run's document to its first step's. */
  readonly first: number[];
  /** What the whole chain took beside the gaps between its steps: beginning and end. */
  readonly around: number[];
}

/** Rounds before those that count: at first as few as a new instance has, then so many that the processor knows the way. */
const WARM_ROUNDS = [2, 20];

/** Step to step against the floor, interleaved on the same host. */
export async function latency(kiln: Installation): Promise<PartResult> {
  await kiln.publish('lat-effectful', list(CHAIN, noop));
  await kiln.publish('lat-bookkeeping', list(CHAIN, transform));
  const rows = [['chain', 'against the floor', 'a step', 'a step, p50 / p90 / p99', 'to the first step', 'beginning and end of the run']];
  const figures: Figures = {};
  for (const warm of WARM_ROUNDS) {
    const floors: number[] = [];
    const times = { bookkeeping: emptyTimes(), effectful: emptyTimes() };
    for (let round = -warm; round < ROUNDS; round += 1) {
      const floor = (await watchedChain(kiln, `lat${warm}-${round}`, CHAIN)) / CHAIN;
      if (round >= 0) floors.push(floor);
      for (const kind of ['effectful', 'bookkeeping'] as const) {
        const run = await kilnRun(kiln, `lat-${kind}`);
        const { gaps, first } = await stepTimes(kiln, run.runId);
        if (round < 0) continue;
        const between = gaps.reduce((sum, gap) => sum + gap, 0);
        times[kind].gaps.push(...gaps);
        times[kind].first.push(first);
        times[kind].steps.push(between / gaps.length);
        times[kind].around.push(lasted(run) - between);
      }
    }
    const isLong = warm !== WARM_ROUNDS[0];
    const base = median(floors);
    const of = (name: string): string => (isLong ? `${name}, after many runs` : name);
    rows.push([of('floor: one compare-and-set a step'), '1.00 ×', fixed(base, 1), '', '', '']);
    for (const kind of ['bookkeeping', 'effectful'] as const) {
      const { steps, gaps, first, around } = times[kind];
      const ratio = median(steps) / base;
      rows.push([of(`Kiln, ${kind}`), `${fixed(ratio)} ×`, fixed(median(steps), 1), quantiles(gaps), quantiles(first), quantiles(around)]);
      figures[`latency.${kind}.${isLong ? 'warmRatio' : 'ratio'}`] = ratio;
    }
  }
  return { title: `Step to step over ${CHAIN} steps, medians of ${ROUNDS} interleaved rounds; ms of this machine`, rows, figures };
}

function emptyTimes(): Times {
  return { steps: [], gaps: [], first: [], around: [] };
}

/** Runs of twenty effectful steps at once, against as many floor chains. */
export async function throughput(kiln: Installation): Promise<PartResult> {
  await kiln.publish('thr', list(CHAIN, noop));
  const rows = [['runs at once', 'against the floor', 'Kiln, steps/s of this machine', 'floor, steps/s']];
  const figures: Figures = {};
  for (const [atOnce, rounds, warm] of [
    [1, ROUNDS, 1],
    [50, 5, 1],
    [500, 1, 0],
  ] as const) {
    const rates: Record<'floor' | 'kiln', number[]> = { floor: [], kiln: [] };
    for (let round = -warm; round < rounds; round += 1) {
      const ids = Array.from({ length: atOnce }, (_, i) => `thr${atOnce}-${round}-${i}`);
      const floor = rateOf(await floorChains(kiln, ids, CHAIN), CHAIN);
      const own = rateOf(await kilnRuns(kiln, 'thr', atOnce), CHAIN);
      // What follows runs that have ended does not disturb the next floor.
      await kiln.host.idle();
      if (round < 0) continue;
      rates.floor.push(floor);
      rates.kiln.push(own);
    }
    const ratio = median(rates.kiln) / median(rates.floor);
    rows.push([String(atOnce), `${fixed(ratio)} ×`, fixed(median(rates.kiln), 0), fixed(median(rates.floor), 0)]);
    if (atOnce === 50) figures['throughput.ratio'] = ratio;
  }
  return { title: `Throughput of runs of ${CHAIN} effectful steps, medians`, rows, figures };
}

/** Whether a long run gets slower: the time between steps over 1,000 steps, by linear fit. */
export async function slope(kiln: Installation): Promise<PartResult> {
  const STEPS = 1_000;
  const EDGE = 100;
  const SLOPE_ROUNDS = 3;
  const kinds = {
    graph: async (n: number): Promise<string> => {
      await kiln.publish(`slope-${n}`, { steps: list(n, noop) });
      return kilnRun(kiln, `slope-${n}`).then(({ runId }) => runId);
    },
    code: (n: number): Promise<string> => kilnRun(kiln, stepsInARow, { steps: n }).then(({ runId }) => runId),
  };
  const rows = [['kind', 'ms a step, first 100', 'last 100', 'from first to last', 'growth over the run by linear fit, ms']];
  const figures: Figures = {};
  for (const [kind, run] of Object.entries(kinds)) {
    // What is measured is the length of the run, not how warm the machine is.
    await run(STEPS / 2);
    const seen: { early: number; late: number; change: number; growth: number }[] = [];
    for (let round = 0; round < SLOPE_ROUNDS; round += 1) {
      const { gaps } = await stepTimes(kiln, await run(STEPS));
      const [early, late] = [mean(gaps.slice(0, EDGE)), mean(gaps.slice(-EDGE))];
      seen.push({ early, late, change: (late - early) / early, growth: fit(gaps) * STEPS });
    }
    const of = (name: 'early' | 'late' | 'change' | 'growth'): number => median(seen.map((one) => one[name]));
    const percent = `${of('change') < 0 ? '' : '+'}${fixed(of('change') * 100, 0)} %`;
    rows.push([kind, fixed(of('early'), 1), fixed(of('late'), 1), percent, fixed(of('growth'), 2)]);
    figures[`slope.${kind}`] = of('change');
  }
  return { title: `Runs of ${STEPS.toLocaleString('en')} straight effectful steps, medians of ${SLOPE_ROUNDS}`, rows, figures };
}

function fit(values: readonly number[]): number {
  const n = values.length;
  const meanX = (n - 1) / 2;
  const meanY = values.reduce((sum, value) => sum + value, 0) / n;
  let above = 0;
  let below = 0;
  values.forEach((value, x) => {
    above += (x - meanX) * (value - meanY);
    below += (x - meanX) ** 2;
  });
  return above / below;
}
