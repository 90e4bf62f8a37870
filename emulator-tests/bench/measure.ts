import type { AnyCodeWorkflow } from '../../functions/src/durable/define-workflow.ts';
import { paths } from '../../functions/src/model/paths.ts';
import { terminalRunStatuses } from '../../functions/src/model/run.ts';
import type { RunStatus } from '../../functions/src/model/run.ts';
import { ACCOUNT } from '../installation.ts';
import type { Installation } from '../installation.ts';

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Without the slowest and the fastest twentieth. */
export function mean(values: readonly number[]): number {
  const cut = Math.floor(values.length / 20);
  const kept = [...values].sort((a, b) => a - b).slice(cut, values.length - cut);
  return kept.reduce((sum, value) => sum + value, 0) / kept.length;
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}

/** p50 / p90 / p99, in whole ms. */
export function quantiles(values: readonly number[]): string {
  return [0.5, 0.9, 0.99].map((q) => quantile(values, q).toFixed(0)).join(' / ');
}

/** Steps a second of as many chains at once. */
export async function atOnceRate(chains: number, steps: number, chain: (n: number) => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await Promise.all(Array.from({ length: chains }, (_, n) => chain(n)));
  return (chains * steps) / ((performance.now() - started) / 1_000);
}

/** Runs a chain of the floor; ms from its document to its last step. */
export async function floorChain(kiln: Installation, id: string, of: number): Promise<number> {
  const ref = kiln.db.doc(`floor/${id}`);
  const started = performance.now();
  const ended = new Promise<void>((resolve, reject) => {
    const stop = ref.onSnapshot((snapshot) => {
      if (snapshot.get('n') !== of) return;
      stop();
      resolve();
    }, reject);
  });
  await ref.set({ n: 0, of });
  await ended;
  return performance.now() - started;
}

/** Where runs are started and looked at. */
export type Place = Pick<Installation, 'db' | 'start'>;

/** Runs a workflow; ms from its run document to its end. */
export async function kilnRun(
  place: Place,
  workflow: string | AnyCodeWorkflow,
  input: object = {},
): Promise<{ runId: string; ms: number }> {
  const started = performance.now();
  const runId = await place.start(workflow, input as never);
  const ref = place.db.doc(paths.run(ACCOUNT, runId));
  await new Promise<void>((resolve, reject) => {
    const stop = ref.onSnapshot((snapshot) => {
      if (!terminalRunStatuses.has(String(snapshot.get('status')) as RunStatus)) return;
      stop();
      resolve();
    }, reject);
  });
  return { runId, ms: performance.now() - started };
}

/** Ms between the creations of successive steps, and from the run's to its first step's, by the database's clock. */
export async function stepTimes({ db }: Place, runId: string): Promise<{ gaps: number[]; first: number }> {
  const [run, found] = await Promise.all([db.doc(paths.run(ACCOUNT, runId)).get(), db.collection(paths.steps(ACCOUNT, runId)).get()]);
  const times = found.docs.map((doc) => doc.createTime.toMillis()).sort((a, b) => a - b);
  const began = run.createTime?.toMillis() ?? Number.NaN;
  return { gaps: times.slice(1).map((time, i) => time - (times[i] ?? time)), first: (times[0] ?? Number.NaN) - began };
}

export interface Counted {
  readonly writes: number;
  readonly reads: number;
  readonly deletes: number;
  readonly invocations: number;
  readonly tasks: number;
  /** Time for which invocations were under way. */
  readonly busyMs: number;
}

const SCHEDULED = 'reconcile';

/** What a piece of work used, counted at the wire. */
export async function counted(kiln: Installation, work: () => Promise<unknown>): Promise<Counted> {
  await kiln.host.idle();
  const tasksBefore = tasksCreated(kiln);
  kiln.host.usage.reset();
  await work();
  await kiln.host.idle();
  // Moving the clock lets the reconciler run, whose work is not that of a step.
  const used = Object.entries(kiln.host.usage.byFunction()).flatMap(([name, usage]) => (name === SCHEDULED ? [] : [usage]));
  const sum = (name: 'writes' | 'reads' | 'deletes' | 'invocations'): number => used.reduce((all, usage) => all + usage[name], 0);
  const [writes, reads, deletes, invocations] = [sum('writes'), sum('reads'), sum('deletes'), sum('invocations')];
  return { writes, reads, deletes, invocations, tasks: tasksCreated(kiln) - tasksBefore, busyMs: kiln.host.usage.busyMs };
}

function tasksCreated(kiln: Installation): number {
  return kiln.host.services.tasks.tasks.stats().created;
}

/** What one of `units` more took. */
export function per(long: Counted, short: Counted, units: number): Counted {
  const each = (name: keyof Counted): number => (long[name] - short[name]) / units;
  return {
    writes: each('writes'),
    reads: each('reads'),
    deletes: each('deletes'),
    invocations: each('invocations'),
    tasks: each('tasks'),
    busyMs: each('busyMs'),
  };
}
