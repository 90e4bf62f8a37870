import { setTimeout as sleep } from 'node:timers/promises';
import type { AnyCodeWorkflow } from '../../functions/src/durable/define-workflow.ts';
import { paths } from '../../functions/src/model/paths.ts';
import { terminalRunStatuses } from '../../functions/src/model/run.ts';
import type { RunStatus } from '../../functions/src/model/run.ts';
import type { Firestore } from '../functions-packages.ts';
import { ACCOUNT } from '../installation.ts';
import type { Installation } from '../installation.ts';

type Ref = ReturnType<Firestore['doc']>;
type Document = Awaited<ReturnType<Ref['get']>>;

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

/** When something began and ended, in ms of the database's clock. */
export interface Span {
  readonly began: number;
  readonly ended: number;
}

export function lasted({ began, ended }: Span): number {
  return ended - began;
}

/** Steps a second of chains at once that have so many steps each. */
export function rateOf(spans: readonly Span[], steps: number): number {
  const whole = { began: Math.min(...spans.map(({ began }) => began)), ended: Math.max(...spans.map(({ ended }) => ended)) };
  return (spans.length * steps) / (lasted(whole) / 1_000);
}

/** Runs chains of the floor at once, each from its document to its last step; nobody listens. */
export async function floorChains({ db }: Place, ids: readonly string[], of: number): Promise<Span[]> {
  const refs = ids.map((id) => db.doc(`floor/${id}`));
  await Promise.all(refs.map((ref) => ref.set({ n: 0, of })));
  return spansOf(db, refs, (chain) => chain.get('n') === of);
}

/** Runs a chain of the floor as its starter sees it, who listens to its document until the last step; ms. */
export async function watchedChain({ db }: Place, id: string, of: number): Promise<number> {
  const ref = db.doc(`floor/${id}`);
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

export interface RunSpan extends Span {
  readonly runId: string;
}

/** Runs a workflow so many times at once, each from its run's document to its end. */
export async function kilnRuns(place: Place, workflow: string | AnyCodeWorkflow, count: number, input: object = {}): Promise<RunSpan[]> {
  const runIds = await Promise.all(Array.from({ length: count }, () => place.start(workflow, input as never)));
  const refs = runIds.map((runId) => place.db.doc(paths.run(ACCOUNT, runId)));
  const spans = await spansOf(place.db, refs, (run) => terminalRunStatuses.has(String(run.get('status')) as RunStatus));
  return runIds.flatMap((runId, n) => (spans[n] === undefined ? [] : [{ runId, ...spans[n] }]));
}

export async function kilnRun(place: Place, workflow: string | AnyCodeWorkflow, input: object = {}): Promise<RunSpan> {
  const [run] = await kilnRuns(place, workflow, 1, input);
  if (run === undefined) throw new Error('nothing was started');
  return run;
}

/** Looks from time to time, as the times are the database's own: hundreds of listeners would be a load, and the emulator forgets some. */
async function spansOf(db: Firestore, refs: readonly Ref[], hasEnded: (document: Document) => boolean): Promise<Span[]> {
  const spans = new Map<Ref, Span>();
  for (;;) {
    const missing = refs.filter((ref) => !spans.has(ref));
    if (missing.length === 0) return refs.flatMap((ref) => spans.get(ref) ?? []);
    const found = await db.getAll(...missing);
    for (const [n, document] of found.entries()) {
      const [ref, { createTime, updateTime }] = [missing[n], document];
      if (ref === undefined || createTime === undefined || updateTime === undefined || !hasEnded(document)) continue;
      spans.set(ref, { began: createTime.toMillis(), ended: updateTime.toMillis() });
    }
    await sleep(Math.max(100, missing.length * 4));
  }
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
