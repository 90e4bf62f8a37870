import type { Installation } from '../installation.ts';
import { counted, floorChain, kilnRun, mean, median, per, quantile, stepGaps } from './measure.ts';
import type { Counted } from './measure.ts';
import { prices } from './prices.ts';
import { stepsInARow } from './steps-in-a-row.ts';

export type Figures = Record<string, number>;
/** Lines for people, figures for machines. */
export interface PartResult {
  readonly title: string;
  readonly rows: readonly (readonly string[])[];
  readonly figures: Figures;
}
export type Part = (kiln: Installation) => Promise<PartResult>;

const noop = (id: string): object => ({ id, type: 'action', action: 'test.noop' });
const transform = (id: string): object => ({ id, type: 'transform', value: 1 });
const list = (n: number, make: (id: string) => object): object[] => Array.from({ length: n }, (_, i) => make(`s${i}`));
const fixed = (n: number, digits = 2): string => n.toFixed(digits);

/** What each kind of step takes, as the difference between a long and a short workflow. */
export async function cost(kiln: Installation): Promise<PartResult> {
  const of = async (name: string, make: (n: number) => object[], input: (n: number) => object = () => ({})): Promise<Counted> => {
    const [short, long] = [4, 14];
    const measured: Counted[] = [];
    for (const n of [short, long]) {
      await kiln.publish(`cost-${name}-${n}`, { steps: make(n), limits: { maxSteps: 100_000 } });
      await kiln.ended(await kiln.start(`cost-${name}-${n}`, input(n) as never));
      measured.push(await counted(kiln, async () => kiln.ended(await kiln.start(`cost-${name}-${n}`, input(n) as never))));
    }
    const [a, b] = measured;
    if (a === undefined || b === undefined) throw new Error('nothing was measured');
    return per(b, a, long - short);
  };
  const items = (n: number): object => ({ items: Array.from({ length: n }, (_, i) => i) });
  const loop = (concurrency: number) => (): object[] => [
    { id: 'each', type: 'loop', concurrency, over: { source: 'workflowInput', path: 'items' }, steps: [noop('x')] },
  ];
  const kinds: [string, Counted][] = [
    ['effectful step (no-op action)', await of('action', (n) => list(n, noop))],
    ['bookkeeping step (transform)', await of('transform', (n) => list(n, transform))],
    [
      'condition with one step in its branch',
      await of('condition', (n) => list(n, (id) => ({ id, type: 'condition', if: 'true', then: [transform(`${id}t`)] }))),
    ],
    ['wait of a second', await of('wait', (n) => list(n, (id) => ({ id, type: 'wait', for: '1s' })))],
    ['iteration of a sequential loop, one action', await of('loop1', loop(1), items)],
    ['iteration in lanes of 10, one action', await of('loop10', loop(10), items)],
    [
      'parallel of two branches, one transform each',
      await of('parallel', (n) =>
        list(n, (id) => ({ id, type: 'parallel', branches: { a: [transform(`${id}a`)], b: [transform(`${id}b`)] } })),
      ),
    ],
  ];
  const effectful = kinds[0]?.[1];
  const bookkeeping = kinds[1]?.[1];
  if (effectful === undefined || bookkeeping === undefined) throw new Error('nothing was measured');
  const rows = kinds.map(([name, used]) => [
    name,
    fixed(used.writes),
    fixed(used.reads),
    fixed(used.tasks),
    fixed(used.invocations),
    `$${fixed(documentPrice(used) * 1e6)}`,
  ]);
  return {
    title: 'Cost of a step: documents, tasks and invocations, counted at the wire; price per million without compute',
    rows: [['step', 'writes', 'reads', 'tasks', 'invocations', 'per million'], ...rows],
    figures: {
      'cost.effectful.writes': effectful.writes,
      'cost.effectful.reads': effectful.reads,
      'cost.effectful.usdPerMillion': documentPrice(effectful) * 1e6,
      'cost.bookkeeping.writes': bookkeeping.writes,
      'cost.bookkeeping.reads': bookkeeping.reads,
    },
  };
}

function documentPrice(used: Counted): number {
  return (
    used.writes * prices.perWrite +
    used.reads * prices.perRead +
    used.deletes * prices.perDelete +
    used.invocations * prices.perInvocation +
    used.tasks * prices.perTask
  );
}

const CHAIN = 20;
const ROUNDS = 9;

/** Step to step against the floor, interleaved on the same host. */
export async function latency(kiln: Installation): Promise<PartResult> {
  await kiln.publish('lat-effectful', list(CHAIN, noop));
  await kiln.publish('lat-bookkeeping', list(CHAIN, transform));
  const times: Record<'floor' | 'effectful' | 'bookkeeping', number[]> = { floor: [], effectful: [], bookkeeping: [] };
  const gaps: Record<'effectful' | 'bookkeeping', number[]> = { effectful: [], bookkeeping: [] };
  for (let round = -1; round < ROUNDS; round += 1) {
    const floor = (await floorChain(kiln, `lat${round}`, CHAIN)) / CHAIN;
    for (const kind of ['effectful', 'bookkeeping'] as const) {
      const { runId } = await kilnRun(kiln, `lat-${kind}`);
      const steps = await stepGaps(kiln, runId);
      // The first round warms up.
      if (round < 0) continue;
      gaps[kind].push(...steps);
      times[kind].push(steps.reduce((sum, gap) => sum + gap, 0) / steps.length);
    }
    if (round >= 0) times.floor.push(floor);
  }
  const base = median(times.floor);
  const row = (name: string, values: readonly number[], all: readonly number[]): string[] => [
    name,
    `${fixed(median(values) / base)} ×`,
    fixed(median(values), 1),
    all.length === 0 ? '' : `${fixed(quantile(all, 0.5), 1)} / ${fixed(quantile(all, 0.9), 1)} / ${fixed(quantile(all, 0.99), 1)}`,
  ];
  return {
    title: `Step to step over ${CHAIN} steps, median of ${ROUNDS} interleaved rounds`,
    rows: [
      ['chain', 'against the floor', 'ms a step on this machine', 'p50 / p90 / p99'],
      row('floor: one compare-and-set a step', times.floor, []),
      row('Kiln, bookkeeping', times.bookkeeping, gaps.bookkeeping),
      row('Kiln, effectful', times.effectful, gaps.effectful),
    ],
    figures: { 'latency.effectful.ratio': median(times.effectful) / base, 'latency.bookkeeping.ratio': median(times.bookkeeping) / base },
  };
}

/** Fifty runs of twenty effectful steps at once, against fifty floor chains. */
export async function throughput(kiln: Installation): Promise<PartResult> {
  const AT_ONCE = 50;
  await kiln.publish('thr', list(CHAIN, noop));
  const rates: Record<'floor' | 'kiln', number[]> = { floor: [], kiln: [] };
  for (let round = 0; round < 3; round += 1) {
    let started = performance.now();
    await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => floorChain(kiln, `thr${round}-${i}`, CHAIN)));
    rates.floor.push((AT_ONCE * CHAIN) / ((performance.now() - started) / 1_000));
    started = performance.now();
    await Promise.all(Array.from({ length: AT_ONCE }, () => kilnRun(kiln, 'thr')));
    rates.kiln.push((AT_ONCE * CHAIN) / ((performance.now() - started) / 1_000));
  }
  const ratio = median(rates.kiln) / median(rates.floor);
  return {
    title: `Throughput: ${AT_ONCE} runs of ${CHAIN} effectful steps at once, median of 3`,
    rows: [
      ['chain', 'against the floor', 'steps/s on this machine'],
      ['floor', '1.00 ×', fixed(median(rates.floor), 0)],
      ['Kiln, effectful', `${fixed(ratio)} ×`, fixed(median(rates.kiln), 0)],
    ],
    figures: { 'throughput.ratio': ratio },
  };
}

/** Whether a long run gets slower: the time between steps over 1,000 steps, by linear fit. */
export async function slope(kiln: Installation): Promise<PartResult> {
  const STEPS = 1_000;
  const EDGE = 100;
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
    const gaps = await stepGaps(kiln, await run(STEPS));
    const [early, late] = [mean(gaps.slice(0, EDGE)), mean(gaps.slice(-EDGE))];
    const change = (late - early) / early;
    const percent = `${change < 0 ? '' : '+'}${fixed(change * 100, 0)} %`;
    rows.push([kind, fixed(early, 1), fixed(late, 1), percent, fixed(fit(gaps) * STEPS, 2)]);
    figures[`slope.${kind}`] = change;
  }
  return { title: `A run of ${STEPS.toLocaleString('en')} straight effectful steps`, rows, figures };
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

/** Many lanes, and many items: that the join fires, when, and which documents were written most. */
export async function fanout(kiln: Installation): Promise<PartResult> {
  const items = (n: number): object => ({ items: Array.from({ length: n }, (_, i) => i) });
  const over = { source: 'workflowInput', path: 'items' };
  await kiln.publish('fan', {
    steps: [{ id: 'each', type: 'loop', concurrency: 1_000, over, steps: [transform('x')] }],
    limits: { maxSteps: 50_000 },
  });
  await kiln.publish('many', {
    steps: [{ id: 'each', type: 'loop', concurrency: 50, over, steps: [transform('x')], collect: 'none' }],
    limits: { maxSteps: 50_000 },
  });
  const rows: string[][] = [['work', 'seconds on this machine', 'most writes/s of one document', 'which']];
  let most = 0;
  for (const [workflow, n] of [
    ['fan', 1_000],
    ['many', 10_000],
  ] as const) {
    kiln.host.usage.reset();
    const { ms, runId } = await kilnRun(kiln, workflow, items(n));
    const run = await kiln.run(runId);
    if (run.status !== 'completed') throw new Error(`the ${workflow} run ended as ${run.status}: ${run.error?.message ?? ''}`);
    const hottest = kiln.host.usage.hottest(1_000, 1)[0];
    most = Math.max(most, hottest?.writes ?? 0);
    rows.push([
      workflow === 'fan' ? '1,000 lanes at once' : '10,000 items in 50 lanes',
      fixed(ms / 1_000, 1),
      String(hottest?.writes ?? 0),
      hottest?.document.split('/').slice(-2).join('/') ?? '',
    ]);
  }
  return { title: 'Fan-out', rows, figures: { 'fanout.maxWritesPerSecond': most } };
}

/** From the decision's document to the next step's, against one hop of the floor. */
export async function approval(kiln: Installation): Promise<PartResult> {
  await kiln.publish('app', [{ id: 'ask', type: 'approval', title: 'ok?', approvers: { users: ['ann'] } }, transform('next')]);
  const hops: number[] = [];
  const floors: number[] = [];
  for (let round = -3; round < ROUNDS; round += 1) {
    const runId = await kiln.begin('app');
    const [request] = await kiln.approvalOf(runId);
    if (request === undefined) throw new Error('nobody was asked');
    const floor = (await floorChain(kiln, `app${round}`, CHAIN)) / CHAIN;
    await kiln.decide(request, 'ann', 'approve');
    await kiln.host.idle();
    const db = kiln.host.firestore();
    const decision = await db.doc(`accounts/acme/approvals/${request.approvalId}/decisions/ann`).get();
    const next = await db.doc(`accounts/acme/runs/${runId}/steps/next`).get();
    // The first rounds warm up.
    if (round < 0) continue;
    floors.push(floor);
    hops.push((next.createTime?.toMillis() ?? Number.NaN) - (decision.createTime?.toMillis() ?? Number.NaN));
  }
  const ratio = median(hops) / median(floors);
  return {
    title: `A decision’s document to the next step’s, median of ${ROUNDS}`,
    rows: [
      ['', 'ms on this machine', 'in hops of the floor'],
      ['decision to next step', fixed(median(hops), 1), `${fixed(ratio)} ×`],
    ],
    figures: { 'approval.hops': ratio },
  };
}
