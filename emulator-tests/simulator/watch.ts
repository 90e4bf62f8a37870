import { ANY_KEY } from '../../functions/src/model/event.ts';
import type { WaitRecord } from '../../functions/src/model/event.ts';
import { terminalRunStatuses } from '../../functions/src/model/run.ts';
import type { RunRecord } from '../../functions/src/model/run.ts';
import { isLive } from '../../functions/src/model/step.ts';
import type { StepRecord } from '../../functions/src/model/step.ts';
import type { ApprovalRecord } from '../../functions/src/model/approval.ts';
import type { Query, Snapshot, Write } from '../../functions/src/ledger/store.ts';
import { mayFollowEnd, mayFollowStep } from './after-end.ts';
import { checkApproval } from './watch-approvals.ts';
import { Violation } from './violation.ts';
import type { Invariant } from './violation.ts';
import type { Invocation } from './jobs.ts';
import type { World } from './world.ts';

type Data = Readonly<Record<string, unknown>>;

/** What a commit did to one document. */
export interface Change<T> {
  readonly path: string;
  readonly before: T | undefined;
  readonly after: T;
  readonly invocation: Invocation;
  /** An operator's command brought it about, in the same commit. */
  readonly ordered: boolean;
}

/** In punctual schedules the reconciler comes after five minutes; a few deliveries may fail on top of that. */
const PROMPT_MS = 30 * 60_000;

/** Looks at every commit the moment it has taken place: what may never happen, and what has happened at least once. */
export class Watch {
  readonly #world: World;
  readonly #punctual: boolean;
  /** Documents as they were after the last look. */
  readonly #known = new Map<string, Data>();
  /** Who claimed which attempt. */
  readonly #claims = new Map<string, Invocation>();
  readonly writesOf = new Map<string, number>();

  constructor(world: World, punctual: boolean) {
    this.#world = world;
    this.#punctual = punctual;
  }

  broken(invariant: Invariant, message: string): void {
    this.#world.fail(new Violation(invariant, message));
  }

  created(snapshot: Snapshot): void {
    // Documents that clients create do not come by `committed`.
    const collection = snapshot.path.split('/').at(-2);
    if (collection === 'requests' || collection === 'decisions' || collection === 'events' || collection === 'commands') {
      this.#known.set(snapshot.path, snapshot.data);
    }
  }

  reads(invocation: Invocation, paths: readonly string[], query: Query | undefined): void {
    const from = query === undefined ? [] : typeof query.from === 'string' ? [query.from] : [];
    for (const path of [...paths, ...from]) this.#border(invocation, path);
    if (query !== undefined && typeof query.from !== 'string' && invocation.job.kind !== 'reconcile') {
      this.broken('nothing crosses an account’s border', `${invocation.label} queries all accounts`);
    }
  }

  committed(invocation: Invocation, writes: readonly Write[]): void {
    const accounts = new Set(writes.map(({ path }) => accountOf(path)).filter((account) => account !== undefined));
    if (accounts.size > 1) this.broken('nothing crosses an account’s border', `one commit writes to ${[...accounts].join(' and ')}`);
    const paths = [...new Set(writes.map(({ path }) => path))];
    // Runs first: what a step may do depends on whether its run has ended before this commit.
    const ended = new Set<string>();
    for (const path of paths) {
      this.#border(invocation, path);
      const run = runPathOf(path);
      if (run === undefined) continue;
      this.writesOf.set(run, (this.writesOf.get(run) ?? 0) + 1);
      const before = this.#known.get(run) as RunRecord | undefined;
      // Undoing by command begins in the commit in which the run is no longer ended.
      const undone = this.#world.store.peek(run)?.data['status'] === 'compensating';
      if (before !== undefined && terminalRunStatuses.has(before.status) && !undone) ended.add(run);
    }
    const ordered = paths.some((path) => path.includes('/commands/') && this.#world.store.peek(path)?.data['status'] === 'done');
    for (const path of paths) this.#look(invocation, path, ended.has(runPathOf(path) ?? ''), ordered);
    for (const path of paths) {
      const doc = this.#world.store.peek(path);
      if (doc !== undefined) this.#known.set(path, doc.data);
    }
  }

  #border(invocation: Invocation, path: string): void {
    const account = accountOf(path);
    if (account === undefined || invocation.account === undefined || account === invocation.account) return;
    this.broken('nothing crosses an account’s border', `${invocation.label} touches ${path}`);
  }

  #look(invocation: Invocation, path: string, runHasEnded: boolean, ordered: boolean): void {
    const after = this.#world.store.peek(path)?.data;
    if (after === undefined) return;
    const before = this.#known.get(path);
    const collection = path.split('/').at(-2);
    switch (collection) {
      case 'steps':
        return this.#step({ path, before: before as StepRecord | undefined, after: after as StepRecord, invocation, ordered }, runHasEnded);
      case 'runs':
        return this.#run({ path, before: before as RunRecord | undefined, after: after as unknown as RunRecord, invocation, ordered });
      case 'approvals': {
        const change = {
          path,
          before: before as ApprovalRecord | undefined,
          after: after as unknown as ApprovalRecord,
          invocation,
          ordered,
        };
        if (change.before === undefined && runHasEnded) this.broken('nothing starts after the run ended', `${path} was asked`);
        return checkApproval(this.#world, change);
      }
      case 'waits':
        return this.#wait(
          { path, before: before as WaitRecord | undefined, after: after as unknown as WaitRecord, invocation, ordered },
          runHasEnded,
        );
      case 'verdicts':
        return this.#takenUp(path, Number(after['decidedAt']));
      case 'commands':
        if (before !== undefined && before['status'] === 'pending' && after['status'] !== 'pending') {
          this.#world.counters.operation(after['status'] === 'done' ? 'command done' : 'command refused');
          this.#takenUp(path, this.#world.store.peek(path)?.createTime ?? 0);
        }
        return;
      default:
    }
  }

  #run({ path, before, after }: Change<RunRecord>): void {
    const { counters } = this.#world;
    if (before !== undefined && terminalRunStatuses.has(before.status)) {
      if (!mayFollowEnd(before, after)) {
        this.broken('a terminal run never changes', `${path} was ${before.status}: ${difference(before, after)}`);
      }
      return;
    }
    if (before !== undefined && after.status === 'pending' && before.startedAt !== undefined) {
      this.broken('only legal transitions', `${path} went back from ${before.status} to pending`);
    }
    if (after.status === 'diverged') this.broken('only legal transitions', `${path} diverged: ${after.error?.message ?? ''}`);
    if (before?.status === 'pending' && after.status === 'running') counters.operation('run started');
    if (!terminalRunStatuses.has(after.status)) return;
    if (after.status === 'completed') counters.operation('run completed');
    else if (after.status === 'failed') counters.operation('run failed');
    else if (after.status === 'cancelled') counters.operation('run cancelled');
    else if (after.status === 'compensated') counters.operation('run compensated');
    const completion = this.#world.store.peek(`accounts/${after.accountId}/completions/${after.runId}`);
    if (completion === undefined) this.broken('the end of a run is announced once', `${path} ended as ${after.status} in silence`);
    for (const step of this.#stepsOf(path)) {
      if (isLive(step.state))
        this.broken('nothing starts after the run ended', `${path} ended as ${after.status} while ${step.key} is ${step.state}`);
    }
    if (after.pendingApprovals !== 0) this.broken('counters are right', `${path} ended with ${after.pendingApprovals} open approvals`);
  }

  #stepsOf(runPath: string): readonly StepRecord[] {
    const prefix = `${runPath}/steps/`;
    return [...this.#world.store.all()].flatMap((doc) => (doc.path.startsWith(prefix) ? [doc.data as unknown as StepRecord] : []));
  }

  #step(change: Change<StepRecord>, runHasEnded: boolean): void {
    const { path, before, after } = change;
    if (before === undefined) {
      if (runHasEnded) this.broken('nothing starts after the run ended', `${path} was created`);
      this.#stepCreated(change);
      this.#armed(change);
      return;
    }
    if (!isLive(before.state)) {
      if (!mayFollowStep(before, after)) {
        this.broken('a terminal step never changes', `${path} was ${before.state}: ${difference(before, after)}`);
      }
      return;
    }
    const moved = before.state !== after.state || before.attempt !== after.attempt || before.wait?.kind !== after.wait?.kind;
    if (runHasEnded && moved) this.broken('nothing starts after the run ended', `${path} went from ${before.state} to ${after.state}`);
    if (!moved) return;
    this.#attempts(change);
    this.#count(change);
    // What an operator orders need not wait for its time, its child or its event.
    if (change.ordered) return;
    this.#armed(change);
    if (after.state !== 'cancelled') this.#time(change);
    this.#pause(change);
    this.#result(change);
  }

  #stepCreated({ path, after }: Change<StepRecord>): void {
    const run = this.#world.store.peek(runPathOf(path) ?? '')?.data as RunRecord | undefined;
    if (run?.status === 'paused' && after.gate !== 'paused')
      this.broken('a pause is respected', `${path} was created open in a paused run`);
    for (const other of this.#stepsOf(runPathOf(path) ?? '')) {
      const inLane =
        after.key.startsWith(`${other.key}[`) ||
        (other.type === 'parallel' && after.key.startsWith(`${other.key}.`) && !after.key.startsWith(`${other.key}.onException.`));
      if (inLane && after.key !== `${other.key}.$join` && !isLive(other.state)) {
        this.broken('a container takes nothing in after its end', `${path} was created although ${other.key} is ${other.state}`);
      }
      if (after.type === '$join' && after.join?.reason === 'complete' && other.key.startsWith(after.join.ownerKey) && isLive(other.state)) {
        const lane = other.key.startsWith(`${after.join.ownerKey}[`) || other.key.startsWith(`${after.join.ownerKey}.`);
        const exception = other.key.startsWith(`${after.join.ownerKey}.onException.`);
        if (lane && !exception && other.key !== after.key)
          this.broken('a join fires when its lanes have ended', `${path} fires while ${other.key} is ${other.state}`);
      }
    }
  }

  /** Timers are armed first: between the commit and a later ring the process may die. */
  #armed({ path, before, after }: Change<StepRecord>): void {
    if (after.state !== 'waiting' || after.wakeAt === undefined || after.wait?.kind === 'turn') return;
    if (before?.state === 'waiting' && before.wakeAt === after.wakeAt) return;
    const { queue, now } = this.#world;
    // A far timer goes in hops: the first of them is enough, and may have been armed by an earlier try.
    if (queue.armedUntil(path) < Math.min(after.wakeAt, now)) {
      this.broken(
        'a doorbell is armed before its commit',
        `${path} (${after.wait?.kind ?? ''}) waits until ${after.wakeAt - now} ms from now`,
      );
    }
  }

  /** Whoever answers a ring that came too early sees to it that there is another. */
  heard(path: string): void {
    const step = this.#world.store.peek(path)?.data as StepRecord | undefined;
    const waits = step?.state === 'waiting' && (step.wakeAt ?? 0) > this.#world.now + 1_000;
    const halted = this.#world.store.peek('system/control') !== undefined;
    if (!waits || halted || (this.#world.rings.get(path) ?? 0) > 0) return;
    this.broken(
      'an early ring comes again',
      `${path} waits for ${(step.wakeAt ?? 0) - this.#world.now} ms more, and no ring is on its way`,
    );
  }

  /** Judged by the database's clock, which is the world's. */
  #time({ path, before, after, invocation }: Change<StepRecord>): void {
    const { now } = this.#world;
    if (before === undefined) return;
    const byTime = before.state === 'waiting' && before.wakeAt !== undefined && now < before.wakeAt;
    const timer = before.wait?.kind === 'timer' || before.wait?.kind === 'retry' || before.wait?.kind === 'slot';
    const gaveUp = (before.wait?.kind === 'event' || before.wait?.kind === 'approval') && timedOut(after);
    const failedRun = after.state === 'failed' && after.error?.code.startsWith('run.') === true;
    if (byTime && (timer || gaveUp) && !failedRun) {
      this.broken('nothing is acted on before its time', `${path} (${before.wait?.kind}) woke ${(before.wakeAt ?? now) - now} ms early`);
    }
    const lost = after.attempts.at(-1)?.outcome === 'lost' && before.attempts.at(-1)?.outcome !== 'lost';
    const byHolder = this.#claims.get(`${path}#${before.attempt}`) === invocation;
    if (lost && !byHolder && before.lease !== undefined && now < before.lease.until) {
      this.broken('no live lease is taken away', `${path} was called lost ${before.lease.until - now} ms early`);
    }
  }

  #attempts({ path, before, after, invocation }: Change<StepRecord>): void {
    if (before === undefined) return;
    const claimed = after.state === 'running' && after.attempt !== before.attempt;
    if (claimed) {
      if (after.attempt !== before.attempt + 1 || (before.state !== 'ready' && before.state !== 'waiting')) {
        this.broken(
          'one accepted result for each attempt',
          `${path} went from attempt ${before.attempt} (${before.state}) to ${after.attempt}`,
        );
      }
      this.#claims.set(`${path}#${after.attempt}`, invocation);
    } else if (after.state === 'running') this.broken('only legal transitions', `${path} runs again without a claim`);
    if (after.state === 'ready') this.broken('only legal transitions', `${path} is ready again`);
    if (before.state !== 'running' || after.state === 'cancelled') return;
    const lost = after.attempts.at(-1)?.outcome === 'lost' || after.error?.code === 'step.exceeds_limit';
    const guard = after.error?.code.startsWith('run.') === true;
    const holder = this.#claims.get(`${path}#${before.attempt}`);
    if (!lost && !guard && holder !== invocation) {
      this.broken(
        'only the holder of the lease records a result',
        `${path}: #${invocation.id} records what #${holder?.id ?? '?'} performs`,
      );
    }
  }

  #pause({ path, before, after }: Change<StepRecord>): void {
    if (before?.gate !== 'paused' || after.gate !== 'paused' || after.state === 'cancelled') return;
    const begins = before.state === 'ready' || before.wait?.kind === 'retry' || before.wait?.kind === 'slot';
    if (begins) this.broken('a pause is respected', `${path} went from ${before.state} to ${after.state} while paused`);
  }

  #result({ path, before, after }: Change<StepRecord>): void {
    if (before?.wait?.kind === 'run' && (after.state === 'succeeded' || after.state === 'failed')) {
      const child = this.#world.store.peek(`accounts/${after.accountId}/runs/${before.wait.runId}`)?.data as RunRecord | undefined;
      const completed = child?.status === 'completed';
      const same = !completed || child.output?.digest === after.output?.digest;
      if (child === undefined || !terminalRunStatuses.has(child.status) || completed !== (after.state === 'succeeded') || !same) {
        this.broken('a parent takes over its child’s result', `${path} ${after.state} while its child is ${child?.status ?? 'missing'}`);
      }
    }
    if (before?.wait?.kind === 'event' && timedOut(after)) this.#missedEvent(path, before, before.wait.waitId);
  }

  /** An event that was there before the wait's time was over, that fits, and that the run has not used. */
  #missedEvent(path: string, step: StepRecord, waitId: string): void {
    const wait = this.#world.store.peek(`accounts/${step.accountId}/waits/${waitId}`)?.data as WaitRecord | undefined;
    if (wait === undefined) return;
    for (const doc of this.#world.store.all()) {
      const { data } = doc;
      if (!doc.path.startsWith(`accounts/${step.accountId}/events/`) || data['name'] !== wait.name) continue;
      const fits = wait.key === ANY_KEY || wait.key === data['key'];
      const inTime = doc.createTime < (step.wakeAt ?? 0) && Number(data['receivedAt']) >= wait.since;
      const used = this.#world.store.peek(`accounts/${step.accountId}/runs/${step.runId}/consumed/${doc.id}`) !== undefined;
      if (fits && inTime && !used) this.broken('an event in time is not lost', `${path} timed out although ${doc.id} came in time`);
    }
  }

  #wait({ path, before, after }: Change<WaitRecord>, runHasEnded: boolean): void {
    if (before === undefined && runHasEnded) this.broken('nothing starts after the run ended', `${path} was opened`);
    if (before?.state === 'closed' && JSON.stringify(before) !== JSON.stringify(after)) {
      this.broken('an event is used once in a run', `${path} was closed: ${difference(before, after)}`);
    }
    if (before?.state !== 'open' || after.state !== 'closed' || after.eventId === undefined) return;
    for (const other of this.#world.store.all()) {
      if (other.path === path || !other.path.startsWith(`accounts/${after.accountId}/waits/`)) continue;
      const { eventId, runId } = other.data;
      if (runId === after.runId && eventId === after.eventId)
        this.broken('an event is used once in a run', `${after.eventId} went to ${path} and ${other.path}`);
    }
    const event = this.#world.store.peek(`accounts/${after.accountId}/events/${after.eventId}`);
    this.#takenUp(`the event ${after.eventId}`, Math.max(event?.createTime ?? 0, after.createdAt));
  }

  /** Where every trigger comes, nothing lies about until some deadline finds it. */
  #takenUp(what: string, since: number): void {
    const late = this.#world.now - since;
    if (this.#punctual && late > PROMPT_MS)
      this.broken('what comes in is taken up in time', `${what} lay for ${Math.round(late / 1_000)} s`);
  }

  #count({ before, after }: Change<StepRecord>): void {
    const { counters } = this.#world;
    if (before === undefined) return;
    if (after.state === 'running') counters.operation('claim');
    if (after.state === 'cancelled') counters.operation('step cancelled');
    if (after.state === 'unresolved') counters.operation('left unresolved');
    if (after.attempts.at(-1)?.outcome === 'lost') counters.operation('attempt lost');
    else if (after.state === 'waiting' && after.wait?.kind === 'retry') counters.operation('retry');
    if (after.state === 'waiting' && after.wait?.kind !== 'retry') counters.operation('suspend');
    if (after.state === 'succeeded' && before.state === 'running') counters.operation('result');
    if (after.state === 'succeeded' && before.state === 'ready') {
      const join = after.join === undefined ? 'compute' : after.join.reason === 'complete' ? 'join complete' : 'join early';
      counters.operation(join);
    }
    if (after.state === 'succeeded' && before.wait?.kind === 'timer') counters.operation('timer woke');
    if (before.wait?.kind === 'event') counters.operation(timedOut(after) ? 'wait timed out' : 'event met wait');
    if (before.wait?.kind === 'run' && after.state !== 'cancelled') counters.operation('child run returned');
    if (after.state === 'failed' && after.error?.class === 'business') counters.operation('business exception handled');
  }
}

function timedOut(step: StepRecord): boolean {
  const output = step.output?.json ?? '';
  return (
    step.error?.code === 'wait.timeout' ||
    step.error?.code === 'approval.expired' ||
    output.includes('"timedOut":true') ||
    output.includes('"byDeadline":true')
  );
}

function accountOf(path: string): string | undefined {
  const [root, account] = path.split('/');
  return root === 'accounts' ? account : undefined;
}

/** The run that a document belongs to, itself included. */
export function runPathOf(path: string): string | undefined {
  const parts = path.split('/');
  return parts[2] === 'runs' ? parts.slice(0, 4).join('/') : undefined;
}

function difference(before: object, after: object): string {
  const fields = new Set([...Object.keys(before), ...Object.keys(after)]);
  const left = before as Record<string, unknown>;
  const right = after as Record<string, unknown>;
  return [...fields]
    .filter((field) => JSON.stringify(left[field]) !== JSON.stringify(right[field]))
    .map((field) => `${field}: ${JSON.stringify(left[field]) ?? 'nothing'} became ${JSON.stringify(right[field]) ?? 'nothing'}`)
    .join('; ')
    .slice(0, 500);
}
