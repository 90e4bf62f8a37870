import { AsyncLocalStorage } from 'node:async_hooks';
import { dueTime } from '../../functions/src/ledger/due.ts';
import { MemoryStore } from '../../functions/src/ledger/memory-store.ts';
import type { Query, Snapshot, Store, Write } from '../../functions/src/ledger/store.ts';
import type { Runtime } from '../../functions/src/runner/runtime.ts';
import type { Ring } from '../../functions/src/timers/ring.ts';
import { Counters, drawFaults, noFaults } from './faults.ts';
import type { FaultRates } from './faults.ts';
import { ClientRetries } from './gated-store.ts';
import type { Fate } from './gated-store.ts';
import { Instance } from './instance.ts';
import { accountOf, isOfTheWorld, labelOf, nextTurn, UnexpectedError } from './jobs.ts';
import type { Doors, Gate, GateKind, Invocation, Job, Pending, WorldOptions } from './jobs.ts';
import { SeededRandom } from './random.ts';
import { GrpcError, stepOf, TaskQueue } from './task-queue.ts';

/** Whose work is being done: code workflows reach the outside without being handed their invocation. */
export const currentInvocation = new AsyncLocalStorage<Invocation>();

const NEVER = new Promise<never>(() => undefined);
export const START = 1_800_000_000_000;
const TICK_MS = 60_000;
const HANDLERS_AT_ONCE = 8;
/** A trigger that keeps failing is given up by the platform; the reconciler takes over. */
const MAX_TRIES = 6;

/**
 * The outside of the engine: database, task queue, trigger deliveries, instances with their clocks, and time. One seed decides
 * everything that could come out differently.
 */
export class World {
  readonly random: SeededRandom;
  readonly counters = new Counters();
  readonly store: MemoryStore;
  /** What everybody works on: the memory store, or in replays one that goes along with it. */
  readonly backend: Store;
  readonly queue: TaskQueue;
  readonly trace: string[] = [];
  readonly tracing: boolean;
  faults: FaultRates;
  now = START;
  /** What watches over the run of things; set once by the simulation. */
  watch: {
    committed(invocation: Invocation, writes: readonly Write[]): void;
    created(snapshot: Snapshot): void;
    reads(invocation: Invocation, paths: readonly string[], query: Query | undefined): void;
    /** A doorbell has been answered. */
    heard(step: string): void;
    /** No handler is under way. */
    quiet(): void;
  } = { committed: () => undefined, created: () => undefined, reads: () => undefined, heard: () => undefined, quiet: () => undefined };
  /** By step: accepted rings that have not been heard yet. Lost ones stay. */
  readonly rings = new Map<string, number>();
  deliveries = 0;
  operations = 0;
  failure: Error | undefined;
  #hash = 0x811c9dc5;
  #ids = 0;
  #instances: Instance[];
  readonly #doors: Doors;
  readonly #pending: Pending[] = [];
  readonly #gates: Gate[] = [];
  readonly #flying = new Set<Invocation>();
  /** Everything between two gates is over. */
  readonly #settled: () => Promise<void>;
  readonly #planned: WorldOptions['planned'];
  readonly #lagMs: number;
  readonly #due = new Map<string, string>();
  /** Something was written since everything stood still. */
  #changed = false;

  constructor(seed: number, doors: Doors, options: WorldOptions = {}) {
    this.random = new SeededRandom(seed);
    this.faults = { ...drawFaults(this.random), ...options.faults };
    this.tracing = options.tracing ?? false;
    this.#planned = options.planned;
    this.#lagMs = options.reconcilerLagMs ?? 0;
    this.#doors = doors;
    this.store = new MemoryStore(() => this.now, { created: (snapshot) => this.#created(snapshot) });
    const backend = options.backend?.(this.store);
    this.backend = backend ?? this.store;
    this.#settled = backend === undefined ? nextTurn : () => backend.settled();
    this.queue = new TaskQueue({
      now: () => this.now,
      accepted: (ring, at) => this.#ringLater(ring, at),
      refused: () => this.counters.fault('task name refused'),
    });
    this.#instances = Array.from({ length: this.random.pick([1, 3, 8]) }, () => this.#boot());
  }

  /** A digest of everything that happened: equal for equal seeds. */
  get hash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, '0');
  }

  say(text: string): void {
    for (let i = 0; i < text.length; i += 1) this.#hash = Math.imul(this.#hash ^ text.charCodeAt(i), 0x01000193);
    if (this.tracing) this.trace.push(`${String(this.now - START).padStart(12)} ${text}`);
  }

  fail(error: Error): void {
    this.failure ??= error;
  }

  /** Something that a person or an outside system does at a time. Returns a way to call it off. */
  schedule(at: number, label: string, act: () => void): () => void {
    const pending = this.#push({ kind: 'outside', label, act }, at);
    return () => {
      const index = this.#pending.indexOf(pending);
      if (index >= 0) this.#pending.splice(index, 1);
    };
  }

  call(at: number, label: string, handle: (runtime: Runtime) => Promise<void>): void {
    this.#push({ kind: 'call', label, handle, tries: 0 }, at);
  }

  /** No more faults. Clocks that are wrong stay wrong. */
  calm(): void {
    this.say('calm');
    this.faults = noFaults;
  }

  /** Lets one thing happen. False when nothing is left that could. */
  async step(): Promise<boolean> {
    const due = this.#pending.filter(({ at }) => at <= this.now);
    const mayBegin = due.length > 0 && this.#flying.size < HANDLERS_AT_ONCE;
    if (mayBegin && (this.#gates.length === 0 || this.random.chance(0.4))) {
      const next = this.random.pick(due);
      this.#pending.splice(this.#pending.indexOf(next), 1);
      this.#begin(next.job);
    } else if (this.#gates.length > 0) {
      // While nothing begins, time passes in small steps; now and then a holder stands still past its lease.
      this.now += this.random.int(20);
      if (this.random.chance(this.faults.stall)) {
        this.counters.fault('stall past a lease');
        this.now += this.random.pick([30_000, 120_000]);
        this.say('stall');
      }
      this.#letGo(this.random.int(this.#gates.length));
    } else if (!this.#passTime()) return false;
    await this.#settled();
    return true;
  }

  /** Jumps to the next thing that happens: a pending job, or the tick at which the reconciler would find something due. */
  #passTime(): boolean {
    if (this.#flying.size === 0 && this.#changed) this.watch.quiet();
    this.#changed = false;
    const nextJob = this.#pending.reduce((least, { at }) => Math.min(least, at), Infinity);
    const due = this.#earliestDue();
    const tick = due === Infinity ? Infinity : Math.ceil(Math.max(due + this.#lagMs, this.now + 1) / TICK_MS) * TICK_MS;
    const extra = this.random.chance(this.faults.extraTick);
    if (nextJob === Infinity && tick === Infinity) return false;
    this.now = Math.max(this.now, Math.min(nextJob, tick));
    if (tick <= this.now || extra) this.#begin({ kind: 'reconcile' });
    return true;
  }

  /** Whether a look for what is due would find nothing now: then it takes no turn. */
  nothingFound({ from, where }: Query): boolean {
    if (typeof from === 'string') return false;
    for (const [path, due] of this.#due) {
      if (path.split('/').at(-2) !== from.group) continue;
      if (where.every(([, op, value]) => (op === '>=' ? due >= String(value) : due <= String(value)))) return false;
    }
    return true;
  }

  #earliestDue(): number {
    let least = Infinity;
    for (const due of this.#due.values()) least = Math.min(least, dueTime(due));
    return least;
  }

  /** Keeps in mind what is due, so that time can jump over what nobody would notice. */
  written(paths: readonly string[]): void {
    this.#changed = true;
    for (const path of paths) {
      const due = this.store.peek(path)?.data['due'];
      if (typeof due === 'string') this.#due.set(path, due);
      else this.#due.delete(path);
    }
  }

  /** A handler's next point of I/O: it waits here for its turn. */
  park(invocation: Invocation, kind: GateKind, what: string): Promise<Fate> {
    if (invocation.state === 'dead') return NEVER;
    return new Promise<Fate>((open, fail) => void this.#gates.push({ kind, what, invocation, open, fail }));
  }

  #letGo(index: number): void {
    const [gate] = this.#gates.splice(index, 1);
    if (gate === undefined) return;
    const { invocation, kind, what } = gate;
    if (kind === 'answer') {
      this.say(`#${invocation.id} ${what}`);
      gate.open('none');
      return;
    }
    this.operations += 1;
    const fault = this.#faultFor(kind);
    const name = {
      none: '',
      crash: ' dies before',
      crash_after: ' dies after',
      aborted: ' fails:',
      retried: ' tries again:',
      lost: ' gets no answer:',
    }[fault];
    this.say(`#${invocation.id}${name} ${what}`);
    switch (fault) {
      case 'none':
        return gate.open('none');
      case 'crash':
        this.counters.fault('crash before I/O');
        return this.#crash(invocation);
      case 'crash_after':
        this.counters.fault('crash after I/O');
        return gate.open('die_after');
      case 'aborted':
        this.counters.fault('aborted');
        return gate.fail(new GrpcError('UNAVAILABLE: try again', 14));
      case 'retried':
        this.counters.fault('aborted, sent again');
        return gate.fail(new ClientRetries('ABORTED'));
      case 'lost': {
        const again = kind === 'commit' && this.random.chance(0.5);
        this.counters.fault(again ? 'lost reply, sent again' : 'lost reply');
        return gate.open(again ? 'client_retries' : 'lose_reply');
      }
    }
  }

  #faultFor(kind: GateKind): 'none' | 'crash' | 'crash_after' | 'aborted' | 'retried' | 'lost' {
    const { random, faults } = this;
    if (this.#planned !== undefined) {
      if (this.#planned.at !== this.operations) return 'none';
      if (this.#planned.fault === 'lost reply') return kind === 'read' ? 'aborted' : 'lost';
      return this.#planned.fault === 'crash before' ? 'crash' : 'crash_after';
    }
    if (random.chance(faults.crash)) return kind !== 'read' && random.chance(0.5) ? 'crash_after' : 'crash';
    if (kind !== 'call' && random.chance(faults.aborted)) return kind === 'commit' && random.chance(0.5) ? 'retried' : 'aborted';
    if ((kind === 'commit' || kind === 'task') && random.chance(faults.lostReply)) return 'lost';
    return 'none';
  }

  /** After an operation took place. */
  async settle(invocation: Invocation, what: string, fate: Fate): Promise<void> {
    if (fate === 'die_after') {
      this.#crash(invocation);
      await NEVER;
    }
    if (fate === 'lose_reply') throw new GrpcError('DEADLINE_EXCEEDED: the answer was lost', 4);
    if (fate === 'client_retries') throw new ClientRetries('the answer was lost');
    if (this.random.chance(this.faults.slowAnswer)) {
      this.counters.fault('slow answer');
      await this.park(invocation, 'answer', `answer of ${what}`);
    }
    // The process may have died while the operation was under way.
    if (invocation.state === 'dead') await NEVER;
  }

  /** The death of an instance, with all that it does. With many instances it is mostly one invocation. */
  #crash({ instance }: Invocation): void {
    this.say(`instance ${instance.id} is gone`);
    this.#instances = this.#instances.map((one) => (one === instance ? this.#boot() : one));
    const doomed = new Set([...this.#flying, ...this.#gates.map((gate) => gate.invocation)]);
    for (const one of doomed) if (one.instance === instance) this.#die(one);
  }

  #die(invocation: Invocation): void {
    if (invocation.state === 'dead') return;
    const running = invocation.state === 'running';
    invocation.state = 'dead';
    this.#flying.delete(invocation);
    for (let i = this.#gates.length - 1; i >= 0; i -= 1) if (this.#gates[i]?.invocation === invocation) this.#gates.splice(i, 1);
    if (running) this.#again(invocation.job);
  }

  #boot(): Instance {
    const skew = this.faults.skewMs === 0 ? 0 : this.random.int(2 * this.faults.skewMs + 1) - this.faults.skewMs;
    if (skew !== 0) this.counters.fault('clock skew');
    return new Instance(this, (this.#ids += 1), skew);
  }

  #begin(job: Job): void {
    if (job.kind === 'outside') {
      this.say(job.label);
      job.act();
      return;
    }
    this.deliveries += 1;
    const instance = this.random.pick(this.#instances);
    const invocation: Invocation = { id: (this.#ids += 1), label: labelOf(job), job, instance, account: accountOf(job), state: 'running' };
    this.#flying.add(invocation);
    this.say(`#${invocation.id} begins: ${invocation.label}`);
    const runtime = this.#doors.runtime(instance, invocation);
    currentInvocation
      .run(invocation, () => this.#work(job, runtime))
      .then(
        () => this.#ended(invocation, undefined),
        (error: unknown) => this.#ended(invocation, error),
      );
  }

  #work(job: Exclude<Job, { kind: 'outside' }>, runtime: Runtime): Promise<void> {
    switch (job.kind) {
      case 'trigger':
        return this.#doors.created(runtime, job.snapshot, job.complete);
      case 'task':
        return this.#doors.ring(runtime, job.ring);
      case 'reconcile':
        return this.#doors.reconcile(runtime);
      case 'call':
        return job.handle(runtime);
    }
  }

  #ended(invocation: Invocation, error: unknown): void {
    if (invocation.state === 'dead') return;
    invocation.state = 'done';
    this.#flying.delete(invocation);
    if (error === undefined) {
      if (invocation.job.kind === 'task') this.#heard(invocation.job);
      return;
    }
    if (!isOfTheWorld(error)) this.fail(new UnexpectedError(invocation.label, error));
    this.say(`#${invocation.id} fails: ${error instanceof Error ? error.message : 'no error'}`);
    this.#again(invocation.job);
  }

  #heard({ ring, first }: Extract<Job, { kind: 'task' }>): void {
    const step = stepOf(ring);
    if (first) this.rings.set(step, (this.rings.get(step) ?? 0) - 1);
    this.watch.heard(step);
  }

  /** Triggers and tasks are delivered again after a failure, until the platform gives up; callers call again. */
  #again(job: Job): void {
    if (job.kind === 'reconcile' || job.kind === 'outside') return;
    const again = job.kind === 'call' || this.#lagMs > 0 || (job.tries < MAX_TRIES && !this.random.chance(this.faults.drop));
    this.counters.fault(again ? 'redelivery' : 'given up by the platform');
    if (again) this.#push({ ...job, tries: job.tries + 1 }, this.now + 100 + this.random.int(10_000));
  }

  #created(snapshot: Snapshot): void {
    this.written([snapshot.path]);
    this.watch.created(snapshot);
    if (!this.#doors.listens(snapshot.path)) return;
    const { random, faults } = this;
    const delay = (): number => {
      if (!random.chance(faults.longDelay)) return random.int(300);
      this.counters.fault('long delay');
      return random.int(6 * 3_600_000);
    };
    const deliver = (after: number): void => {
      const complete = !random.chance(0.05);
      if (!complete) this.counters.fault('trigger without its document');
      this.#push({ kind: 'trigger', snapshot, complete, tries: 0 }, this.now + after);
    };
    if (random.chance(faults.drop)) {
      this.counters.fault('dropped delivery');
      this.say(`never delivered: ${snapshot.path}`);
    } else deliver(delay());
    // A join that fires twice is the worst that a second delivery could do.
    if (random.chance(faults.duplicate * (snapshot.path.endsWith('.$join') ? 3 : 1))) {
      this.counters.fault('duplicate delivery');
      deliver(delay() + random.int(random.pick([2_000, 2_000, 60_000, 3_600_000])));
    }
  }

  #ringLater(ring: Ring, at: number): void {
    const { random, faults, counters } = this;
    const step = stepOf(ring);
    this.rings.set(step, (this.rings.get(step) ?? 0) + 1);
    if (random.chance(faults.lostRing)) {
      counters.fault('lost ring');
      return;
    }
    const early = random.chance(faults.earlyRing);
    if (early) counters.fault('early ring');
    const when = early ? at - random.int(8_000) : at + random.int(2_000);
    this.#push({ kind: 'task', ring, tries: 0, first: true }, when);
    if (random.chance(faults.duplicate)) {
      counters.fault('duplicate ring');
      this.#push({ kind: 'task', ring, tries: 0, first: false }, when + random.int(30_000));
    }
  }

  #push(job: Job, at: number): Pending {
    const pending = { at, job };
    this.#pending.push(pending);
    return pending;
  }
}
