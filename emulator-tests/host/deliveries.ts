import { drawFate, drawKill, noEventFaults, type EventFaults, type Fate } from './event-faults.ts';

/** A document event for one function. */
export interface FunctionEvent {
  readonly functionName: string;
  /** Redelivered when the function fails. */
  readonly retry: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface RetryTimes {
  readonly maxAttempts: number;
  readonly minBackoffMs: number;
  readonly maxBackoffMs: number;
}

/** As in production, where it goes on for a day, in a thousandth of the time. */
export const shortRetryTimes: RetryTimes = { maxAttempts: 60, minBackoffMs: 20, maxBackoffMs: 1_000 };

export interface DeliveryCounters {
  /** Events that the emulator sent. */
  received: number;
  /** Attempts to hand one to a function. */
  delivered: number;
  succeeded: number;
  failed: number;
  redelivered: number;
  duplicated: number;
  delayed: number;
  reordered: number;
  dropped: number;
  lost: number;
  answersLost: number;
  withoutData: number;
  kills: number;
  /** Failed, and not delivered again: no `retry`, or too many attempts. */
  abandoned: number;
  maxInFlight: number;
}

export interface DeliveryOptions {
  readonly seed: string;
  readonly faults?: Partial<EventFaults>;
  readonly retry?: Partial<RetryTimes>;
  /** Calls at once, as many as the instances take together; what comes then waits in line. Without: any number. */
  readonly concurrency?: number;
  /** Runs the function; throws when it failed or died. */
  readonly invoke: (event: FunctionEvent) => Promise<void>;
  readonly kill: () => void;
}

const keptFailures = 50;

interface Held {
  readonly release: () => void;
  /** How many later events must pass first. */
  left: number;
}

/**
 * Hands events to functions the way production does: at least once, at the same time, in no order; here with faults that
 * a seed decides.
 */
export class Deliveries {
  readonly #seed: string;
  readonly #invoke: (event: FunctionEvent) => Promise<void>;
  readonly #kill: () => void;
  readonly #retry: RetryTimes;
  readonly #concurrency: number;
  readonly #line: (() => void)[] = [];
  #faults: EventFaults;
  readonly #seen = new Map<string, number>();
  readonly #held = new Set<Held>();
  readonly #timers = new Map<NodeJS.Timeout, () => void>();
  readonly #waiting = new Set<() => void>();
  #pending = 0;
  #inFlight = 0;
  #activity = 0;
  #closed = false;
  /** Why the last calls failed, newest last. */
  readonly failures: string[] = [];
  readonly counters: DeliveryCounters = {
    received: 0,
    delivered: 0,
    succeeded: 0,
    failed: 0,
    redelivered: 0,
    duplicated: 0,
    delayed: 0,
    reordered: 0,
    dropped: 0,
    lost: 0,
    answersLost: 0,
    withoutData: 0,
    kills: 0,
    abandoned: 0,
    maxInFlight: 0,
  };

  constructor(options: DeliveryOptions) {
    this.#seed = options.seed;
    this.#invoke = options.invoke;
    this.#kill = options.kill;
    this.#retry = { ...shortRetryTimes, ...options.retry };
    this.#concurrency = options.concurrency ?? Number.POSITIVE_INFINITY;
    this.#faults = { ...noEventFaults, ...options.faults };
  }

  get faults(): EventFaults {
    return this.#faults;
  }

  setFaults(faults: Partial<EventFaults>): void {
    this.#faults = { ...this.#faults, ...faults };
  }

  /** Grows with everything that happens; a caller that sees it unchanged knows that nothing did. */
  get activity(): number {
    return this.#activity;
  }

  receive(event: FunctionEvent): void {
    if (this.#closed) return;
    this.#activity += 1;
    this.counters.received += 1;
    const document = event.headers['ce-document'] ?? '';
    const nth = (this.#seen.get(`${event.functionName}|${document}`) ?? 0) + 1;
    this.#seen.set(`${event.functionName}|${document}`, nth);
    const key = [event.functionName, document, String(nth)];
    this.#letOvertake();
    void this.#track(this.#handle(event, key, drawFate(this.#seed, this.#faults, key)));
  }

  /** Resolves when no event is held back, in flight or waiting to be delivered again. */
  async idle(): Promise<void> {
    while (this.#pending > 0) {
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
      });
    }
  }

  close(): void {
    this.#closed = true;
    // Whoever waits for a held event goes on and finds the deliveries closed.
    for (const [timer, resolve] of this.#timers) {
      clearTimeout(timer);
      resolve();
    }
    for (const held of this.#held) held.release();
  }

  async #track(work: Promise<void>): Promise<void> {
    this.#pending += 1;
    try {
      await work;
    } finally {
      this.#pending -= 1;
      this.#activity += 1;
      if (this.#pending === 0) {
        for (const resolve of this.#waiting) resolve();
        this.#waiting.clear();
      }
    }
  }

  async #handle(event: FunctionEvent, key: readonly string[], fate: Fate): Promise<void> {
    if (!(await this.#arrive(fate))) return;
    const sent = fate.withoutData ? { ...event, body: Buffer.alloc(0) } : event;
    if (fate.withoutData) this.counters.withoutData += 1;
    if (fate.duplicate !== 'none') this.counters.duplicated += 1;
    const twin = fate.duplicate === 'at-once' ? this.#deliver(sent, key, false) : undefined;
    await this.#deliver(sent, key, true);
    await twin;
    if (fate.duplicate === 'after-success') await this.#deliver(sent, key, false);
    if (!fate.loseAnswer) return;
    this.counters.answersLost += 1;
    await this.#pause(this.#retry.minBackoffMs);
    await this.#deliver(sent, key, false);
  }

  /** Waits as the fate says; false when the event never arrives. */
  async #arrive(fate: Fate): Promise<boolean> {
    const { arrival } = fate;
    switch (arrival.kind) {
      case 'now':
        return true;
      case 'lost':
        this.counters.lost += 1;
        return false;
      case 'dropped':
        this.counters.dropped += 1;
        await this.#pause(arrival.ms);
        return true;
      case 'delayed':
        this.counters.delayed += 1;
        await this.#pause(arrival.ms);
        return true;
      case 'overtaken':
        this.counters.reordered += 1;
        await this.#hold(arrival.by, arrival.ms);
        return true;
    }
  }

  #pause(ms: number): Promise<void> {
    if (this.#closed) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        resolve();
      }, ms);
      this.#timers.set(timer, resolve);
    });
  }

  /** A single event has nothing that could overtake it, so the time limit frees it. */
  #hold(left: number, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const held: Held = {
        left,
        release: () => {
          clearTimeout(timer);
          this.#held.delete(held);
          resolve();
        },
      };
      const timer = setTimeout(held.release, ms);
      this.#held.add(held);
    });
  }

  #letOvertake(): void {
    for (const held of this.#held) {
      held.left -= 1;
      // In the next turn: the event that overtakes goes first.
      if (held.left <= 0) setImmediate(held.release);
    }
  }

  async #deliver(event: FunctionEvent, key: readonly string[], isFirst: boolean): Promise<void> {
    for (let attempt = 1; !this.#closed; attempt += 1) {
      if (attempt > 1) this.counters.redelivered += 1;
      if (await this.#attempt(event, key, isFirst && attempt === 1)) return;
      if (!event.retry || attempt >= this.#retry.maxAttempts) {
        this.counters.abandoned += 1;
        return;
      }
      await this.#pause(Math.min(this.#retry.maxBackoffMs, this.#retry.minBackoffMs * 2 ** (attempt - 1)));
    }
  }

  async #attempt(event: FunctionEvent, key: readonly string[], isFirst: boolean): Promise<boolean> {
    await this.#enter();
    this.counters.delivered += 1;
    this.counters.maxInFlight = Math.max(this.counters.maxInFlight, this.#inFlight);
    const killAfter = isFirst ? drawKill(this.#seed, this.#faults, key) : undefined;
    if (killAfter !== undefined) {
      this.counters.kills += 1;
      void this.#track(this.#pause(killAfter).then(() => this.#kill()));
    }
    try {
      await this.#invoke(event);
      this.counters.succeeded += 1;
      return true;
    } catch (error) {
      // The function threw, or its process died: the platform sees no difference.
      this.counters.failed += 1;
      this.failures.push(`${event.functionName} ${key[1] ?? ''}: ${error instanceof Error ? error.message : String(error)}`);
      if (this.failures.length > keptFailures) this.failures.shift();
      return false;
    } finally {
      this.#leave();
    }
  }

  async #enter(): Promise<void> {
    if (this.#inFlight < this.#concurrency) this.#inFlight += 1;
    else await new Promise<void>((resolve) => this.#line.push(resolve));
  }

  /** Who waits takes the place over. */
  #leave(): void {
    const next = this.#line.shift();
    if (next === undefined) this.#inFlight -= 1;
    else next();
  }
}
