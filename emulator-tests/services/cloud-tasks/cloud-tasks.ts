import { randomInt } from 'node:crypto';
import { MovableClock } from './clock.ts';
import { newTaskCounters, type TaskCounters, type TaskStats } from './counters.ts';
import { delivery, httpDispatch, type Dispatch } from './dispatch.ts';
import { drawCreateFault, drawDuplicate, drawShiftMs, isDropped, noTaskFaults, type TaskFaults } from './faults.ts';
import { fileJournal, memoryJournal, type Journal, type QueueRecord } from './journal.ts';
import { backoffMs, defaultRetryConfig, isExhausted, type RetryConfig } from './retry.ts';
import { readTask, ServiceError, type StoredTask } from './task.ts';

export interface CloudTasksOptions {
  readonly clock?: MovableClock;
  /** Path of the journal; without it nothing survives. */
  readonly journalPath?: string;
  /** How long the name of an ended task stays taken. */
  readonly tombstoneMs?: number;
  readonly retry?: Partial<RetryConfig>;
  readonly faults?: Partial<TaskFaults>;
  /** Delivers without HTTP where the target is in this process. */
  readonly dispatch?: Dispatch;
  /** How long (real time) moving the clock waits for the rings of one moment before it goes on. */
  readonly settleMs?: number;
}

const longestTimerMs = 2 ** 31 - 1;

/**
 * Cloud Tasks without its wire: names, schedule, retries, queues, journal and faults. It promises what the service
 * promises, at least once and in no order, and keeps tasks from before a restart.
 */
export class CloudTasks {
  readonly clock: MovableClock;
  readonly #journal: Journal;
  readonly #tombstoneMs: number;
  readonly #retry: RetryConfig;
  #dispatch: Dispatch;
  #moved: (offset: number) => Promise<void> = () => Promise.resolve();
  #settled: () => Promise<void> = () => Promise.resolve();
  readonly #settleMs: number;
  #faults: TaskFaults;
  /** Moves of the first ring by a fault; a retry keeps its own time. */
  readonly #shifts = new Map<string, number>();
  readonly #createTries = new Map<string, number>();
  readonly #inFlight = new Map<string, Promise<void>>();
  readonly #perQueue = new Map<string, number>();
  readonly #aborts = new Set<AbortController>();
  #timer: NodeJS.Timeout | undefined;
  #moves: Promise<void> = Promise.resolve();
  #closed = false;
  readonly #counters: TaskCounters = newTaskCounters();

  constructor(options: CloudTasksOptions = {}) {
    this.clock = options.clock ?? new MovableClock();
    this.#journal = options.journalPath === undefined ? memoryJournal() : fileJournal(options.journalPath, this.clock.now());
    this.clock.restoreOffset(this.#journal.state.clockOffset);
    this.#tombstoneMs = options.tombstoneMs ?? 3_600_000;
    this.#retry = { ...defaultRetryConfig, ...options.retry };
    this.#faults = { ...noTaskFaults, ...options.faults };
    this.#dispatch = options.dispatch ?? httpDispatch;
    this.#settleMs = options.settleMs ?? 10_000;
    this.#pump();
  }

  get faults(): TaskFaults {
    return this.#faults;
  }

  setFaults(faults: Partial<TaskFaults>): void {
    this.#faults = { ...this.#faults, ...faults };
  }

  /**
   * Hands the double to a host of functions: where rings go, what to do when time has moved and before anything rings at
   * the new time, and what else must come to rest before time moves on.
   */
  attach(host: {
    readonly dispatch: Dispatch;
    readonly moved: (offset: number) => Promise<void>;
    readonly settled: () => Promise<void>;
  }): void {
    this.#dispatch = host.dispatch;
    this.#moved = host.moved;
    this.#settled = host.settled;
  }

  stats(): TaskStats {
    return { ...this.#counters, pending: this.#journal.state.tasks.size, inFlight: this.#inFlight.size };
  }

  // ---- tasks

  create(queueName: string, task: unknown): StoredTask {
    const now = this.clock.now();
    const stored = readTask(task, queueName, now, () => `${now}${randomInt(10 ** 9, 10 ** 10)}`);
    const tries = (this.#createTries.get(stored.name) ?? 0) + 1;
    this.#createTries.set(stored.name, tries);
    const fault = drawCreateFault(this.#faults, stored.name, tries);
    if (fault === 'refuse') {
      this.#counters.refused += 1;
      throw new ServiceError(503, 'UNAVAILABLE', 'The service is currently unavailable (injected).');
    }
    if (this.#nameTaken(stored.name, now)) {
      this.#counters.alreadyExists += 1;
      throw new ServiceError(409, 'ALREADY_EXISTS', 'Requested entity already exists: the name is in use or was used a short time ago.');
    }
    this.queue(queueName);
    const shift = drawShiftMs(this.#faults, stored.name);
    if (shift !== 0) this.#shifts.set(stored.name, shift);
    this.#save(stored);
    this.#counters.created += 1;
    this.#pump();
    if (fault === 'lose-reply') {
      this.#counters.createRepliesLost += 1;
      throw new ServiceError(503, 'UNAVAILABLE', 'The reply was lost; the task was created (injected).');
    }
    return stored;
  }

  get(name: string): StoredTask {
    const task = this.#journal.state.tasks.get(name);
    if (task === undefined)
      throw new ServiceError(404, 'NOT_FOUND', 'The task no longer exists, though a task with this name existed recently, or never did.');
    return task;
  }

  /** In the order of their names, as pages need a stable order. */
  list(queueName: string): StoredTask[] {
    const tasks = [...this.#journal.state.tasks.values()].filter((task) => task.queue === queueName);
    return tasks.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  delete(name: string): void {
    this.get(name);
    this.#end(name);
    this.#counters.deleted += 1;
  }

  /** Rings now, whatever its time and whether or not the queue is paused. */
  run(name: string): StoredTask {
    const task = this.get(name);
    if (!this.#inFlight.has(name)) this.#start(task);
    return this.#journal.state.tasks.get(name) ?? task;
  }

  // ---- queues

  /** Queues come into being when they are first named: deploying a task queue function would have made them. */
  queue(name: string): QueueRecord {
    const known = this.#journal.state.queues.get(name);
    if (known !== undefined) return known;
    return this.#saveQueue({ name, paused: false, retry: this.#retry, maxConcurrent: 1000 });
  }

  updateQueue(name: string, change: Partial<Omit<QueueRecord, 'name'>>): QueueRecord {
    const queue = this.#saveQueue({ ...this.queue(name), ...change });
    this.#pump();
    return queue;
  }

  purge(name: string): QueueRecord {
    for (const task of this.list(name)) {
      this.#end(task.name);
      this.#counters.purged += 1;
    }
    return this.updateQueue(name, { purgeMs: this.clock.now() });
  }

  // ---- time

  /**
   * Moves the clock forward, stopping at each moment at which a task is due: its ring is answered (or takes longer than
   * `settleMs`) before time goes on, so that retries and tasks created by handlers fall into the same move.
   */
  advance(ms: number): Promise<void> {
    if (!Number.isFinite(ms) || ms < 0)
      throw new ServiceError(400, 'INVALID_ARGUMENT', 'The clock moves forward only: advanceMs is a number of at least 0.');
    const target = this.clock.now() + ms;
    this.#moves = this.#moves.then(() => this.#moveTo(target));
    return this.#moves;
  }

  async #moveTo(target: number): Promise<void> {
    await this.#settle();
    for (;;) {
      const due = this.#nextDue();
      if (due === undefined || due > target || this.#closed) break;
      this.clock.moveTo(due);
      await this.#moved(this.clock.offset);
      this.#pump();
      await this.#settle();
    }
    this.clock.moveTo(target);
    await this.#moved(this.clock.offset);
    this.#journal.append({ op: 'clock', offset: this.clock.offset });
    this.#journal.state.clockOffset = this.clock.offset;
    this.#pump();
    await this.#settle();
  }

  /** Resolves when no ring is unanswered. */
  async idle(): Promise<void> {
    while (this.#inFlight.size > 0) await Promise.race(this.#inFlight.values());
  }

  async #settle(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#settleMs);
    });
    await Promise.race([this.idle().then(() => this.#settled()), limit]);
    clearTimeout(timer);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const controller of this.#aborts) controller.abort();
    await Promise.allSettled(this.#inFlight.values());
  }

  // ---- inside

  #nameTaken(name: string, now: number): boolean {
    if (this.#journal.state.tasks.has(name)) return true;
    const until = this.#journal.state.tombstones.get(name);
    if (until === undefined) return false;
    if (until > now) return true;
    this.#journal.state.tombstones.delete(name);
    return false;
  }

  #save(task: StoredTask): void {
    this.#journal.append({ op: 'task', task });
    this.#journal.state.tasks.set(task.name, task);
  }

  #saveQueue(queue: QueueRecord): QueueRecord {
    this.#journal.append({ op: 'queue', queue });
    this.#journal.state.queues.set(queue.name, queue);
    return queue;
  }

  #end(name: string): void {
    const now = this.clock.now();
    const until = now + this.#tombstoneMs;
    this.#journal.append({ op: 'end', name, until });
    // Oldest first, as they were set: free names are forgotten so that a long session does not grow.
    for (const [old, free] of this.#journal.state.tombstones) {
      if (free > now) break;
      this.#journal.state.tombstones.delete(old);
    }
    this.#journal.state.tasks.delete(name);
    this.#journal.state.tombstones.set(name, until);
    this.#shifts.delete(name);
    this.#createTries.delete(name);
  }

  #dueOf(task: StoredTask): number {
    return task.scheduleMs + (this.#shifts.get(task.name) ?? 0);
  }

  #mayStart(task: StoredTask): boolean {
    if (this.#inFlight.has(task.name)) return false;
    const queue = this.queue(task.queue);
    return !queue.paused && (this.#perQueue.get(task.queue) ?? 0) < queue.maxConcurrent;
  }

  #nextDue(): number | undefined {
    let next: number | undefined;
    for (const task of this.#journal.state.tasks.values()) {
      if (!this.#mayStart(task)) continue;
      const due = this.#dueOf(task);
      if (next === undefined || due < next) next = due;
    }
    return next;
  }

  /** Starts what is due and sets the timer for what is due next. */
  #pump(): void {
    if (this.#closed) return;
    clearTimeout(this.#timer);
    const now = this.clock.now();
    const due = [...this.#journal.state.tasks.values()]
      .filter((task) => this.#dueOf(task) <= now)
      .sort((a, b) => this.#dueOf(a) - this.#dueOf(b));
    for (const task of due) if (this.#mayStart(task)) this.#ring(task);
    const next = this.#nextDue();
    if (next === undefined) return;
    this.#timer = setTimeout(() => this.#pump(), Math.min(longestTimerMs, Math.max(1, next - this.clock.now())));
  }

  #ring(task: StoredTask): void {
    if (task.dispatchCount === 0 && isDropped(this.#faults, task.name)) {
      this.#counters.dropped += 1;
      return this.#end(task.name);
    }
    const shift = this.#shifts.get(task.name) ?? 0;
    this.#shifts.delete(task.name);
    if (shift < 0) this.#counters.early += 1;
    if (shift > 0) this.#counters.late += 1;
    this.#start(task);
  }

  #start(task: StoredTask): void {
    this.#perQueue.set(task.queue, (this.#perQueue.get(task.queue) ?? 0) + 1);
    // Registered before it begins: a target in this process may call back at once, and must find the task in flight.
    const attempt = Promise.resolve()
      .then(() => this.#attempt(task))
      .finally(() => {
        this.#inFlight.delete(task.name);
        this.#perQueue.set(task.queue, (this.#perQueue.get(task.queue) ?? 1) - 1);
        this.#pump();
      });
    this.#inFlight.set(task.name, attempt);
    this.#counters.maxInFlight = Math.max(this.#counters.maxInFlight, this.#inFlight.size);
  }

  async #attempt(task: StoredTask): Promise<void> {
    if (this.#closed || !this.#journal.state.tasks.has(task.name)) return;
    const now = this.clock.now();
    const begun: StoredTask = {
      ...task,
      dispatchCount: task.dispatchCount + 1,
      firstAttemptMs: task.firstAttemptMs ?? now,
      lastAttemptMs: now,
    };
    this.#save(begun);
    const duplicate = drawDuplicate(this.#faults, task.name);
    const twin = duplicate === 'at-once' ? this.#send(task) : undefined;
    const answer = await this.#send(task);
    await twin;
    if (duplicate === 'after-success' && answer !== undefined && answer.status < 300) await this.#send(task);
    if (duplicate !== 'none') this.#counters.duplicated += 1;
    this.#finish(begun, answer);
  }

  async #send(task: StoredTask): Promise<{ readonly status: number; readonly retryAfterMs?: number } | undefined> {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), task.deadlineMs);
    this.#aborts.add(controller);
    this.#counters.dispatched += 1;
    try {
      return await this.#dispatch(delivery(task, this.clock.now(), controller.signal));
    } catch {
      // No answer: refused connection, deadline, or the target died. The service treats all as a failed attempt.
      return undefined;
    } finally {
      clearTimeout(timer);
      this.#aborts.delete(controller);
    }
  }

  #finish(task: StoredTask, answer: { readonly status: number; readonly retryAfterMs?: number } | undefined): void {
    // A service that closes in the middle leaves the task in its journal: it rings again after the restart.
    if (this.#closed) return;
    const success = answer !== undefined && answer.status >= 200 && answer.status < 300;
    this.#counters[success ? 'succeeded' : 'failed'] += 1;
    // Deleted or purged while it rang.
    if (!this.#journal.state.tasks.has(task.name)) return;
    if (success) return this.#end(task.name);
    const now = this.clock.now();
    const { retry } = this.queue(task.queue);
    if (isExhausted(retry, task.dispatchCount, task.firstAttemptMs ?? now, now)) {
      this.#counters.exhausted += 1;
      return this.#end(task.name);
    }
    const wait = Math.max(backoffMs(retry, task.dispatchCount), answer?.retryAfterMs ?? 0);
    this.#save({
      ...task,
      scheduleMs: now + wait,
      responseCount: task.responseCount + (answer === undefined ? 0 : 1),
      ...(answer === undefined ? {} : { lastStatus: answer.status }),
    });
  }
}
