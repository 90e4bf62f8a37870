import { paths } from '../../functions/src/model/paths.ts';
import { ACCOUNT } from '../installation.ts';
import type { Installation } from '../installation.ts';
import { kilnRun, lasted, median, watchedChain } from './measure.ts';
import { CHAIN, fixed, items, overItems, ROUNDS, transform } from './parts.ts';
import type { PartResult } from './parts.ts';

const SUSTAINED_MS = 10_000;

/** Many lanes, and many items: that the join fires, when, and which documents were written most. */
export async function fanout(kiln: Installation): Promise<PartResult> {
  await kiln.publish('fan', {
    steps: [{ id: 'each', type: 'loop', concurrency: 1_000, over: overItems, steps: [transform('x')] }],
    limits: { maxSteps: 50_000 },
  });
  await kiln.publish('many', {
    steps: [{ id: 'each', type: 'loop', concurrency: 50, over: overItems, steps: [transform('x')], collect: 'none' }],
    limits: { maxSteps: 50_000 },
  });
  const rows: string[][] = [
    [
      'work',
      'seconds on this machine',
      'ms from the last lane’s end to the loop’s',
      'most writes/s of one document, over 10 s',
      'which',
      'within one second',
      'which',
    ],
  ];
  let most = 0;
  const named = (document: string | undefined): string => document?.split('/').slice(-2).join('/') ?? '';
  for (const [workflow, n] of [
    ['fan', 1_000],
    ['many', 10_000],
  ] as const) {
    kiln.host.usage.reset();
    const { runId, ...span } = await kilnRun(kiln, workflow, items(n));
    const run = await kiln.run(runId);
    if (run.status !== 'completed') throw new Error(`the ${workflow} run ended as ${run.status}: ${run.error?.message ?? ''}`);
    const [steady, peak] = [kiln.host.usage.hottest(SUSTAINED_MS, 1)[0], kiln.host.usage.hottest(1_000, 1)[0]];
    const sustained = (steady?.writes ?? 0) / (SUSTAINED_MS / 1_000);
    most = Math.max(most, sustained);
    rows.push([
      workflow === 'fan' ? '1,000 lanes at once' : '10,000 items in 50 lanes',
      fixed(lasted(span) / 1_000, 1),
      fixed(await joinDelay(kiln, runId), 0),
      fixed(sustained, 1),
      named(steady?.document),
      String(peak?.writes ?? 0),
      named(peak?.document),
    ]);
  }
  return { title: 'Fan-out', rows, figures: { 'fanout.maxWritesPerSecond': most } };
}

/** The last lane to end creates the join's step; that ends the loop. */
async function joinDelay({ db }: Installation, runId: string): Promise<number> {
  const [join, loop] = await Promise.all(['each.$join', 'each'].map((key) => db.doc(paths.step(ACCOUNT, runId, key)).get()));
  return (loop?.updateTime?.toMillis() ?? Number.NaN) - (join?.createTime?.toMillis() ?? Number.NaN);
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
    const floor = (await watchedChain(kiln, `app${round}`, CHAIN)) / CHAIN;
    await kiln.decide(request, 'ann', 'approve');
    await kiln.host.idle();
    const { db } = kiln;
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
