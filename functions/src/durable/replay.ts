import type { Write } from '../ledger/store.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import type { ErrorRecord } from '../model/errors.ts';
import { Call } from './call.ts';
import type { Compensation } from './call.ts';
import type { AnyCodeWorkflow, RunInfo, WorkflowContext } from './define-workflow.ts';
import { stepFailure } from './errors.ts';
import type { LiveStep } from './baton.ts';
import { isPassing } from './journal.ts';
import type { Entry } from './journal.ts';
import { keyOfUse } from './names.ts';
import { createStepApi } from './step-calls.ts';

/** What the code did that the journal does not have, or the other way round. */
export interface Divergence {
  /** Which entry of the journal, from 0. */
  readonly position: number;
  readonly recorded: string;
  readonly found: string;
}

/** Time, randomness and ids for what the code asks in passing. */
export interface Sources {
  now(): number;
  random(): number;
  uuid(): string;
}

interface Passed {
  readonly key: string;
  readonly json: string;
  readonly fresh: boolean;
}

export interface ExecutionInput {
  readonly workflow: AnyCodeWorkflow;
  readonly run: RunInfo;
  /** What started the run, as the workflow's trigger reads it. */
  readonly payload: unknown;
  readonly sources: Sources;
  /** What the journal has. */
  readonly entries: readonly Entry[];
}

export type Ended = { readonly kind: 'returned'; readonly value: unknown } | { readonly kind: 'threw'; readonly error: unknown };

/**
 * One execution of a run function. It is brought to where the run is by handing it the journal's results one by one, each after
 * everything that followed from the one before has settled. Between the calls of steps there are only microtasks, so "settled" is
 * exact: nothing is waited for. What the code does beyond the journal is collected in `fresh`.
 */
export class Execution {
  readonly calls = new Map<string, Call>();
  readonly compensations: Compensation[] = [];
  /** Entries that the code made in passing since the last commit, and documents to write with them. */
  readonly fresh: Entry[] = [];
  readonly effects: Write[] = [];
  readonly run: RunInfo;
  readonly sources: Sources;
  readonly workflow: AnyCodeWorkflow;
  businessState: { readonly state: string; readonly since: number } | undefined;
  /** The last state that the journal has: the one that a fork begins in. */
  recordedState: string | undefined;
  ended: Ended | undefined;
  divergence: Divergence | undefined;
  /** A mistake that ends the run whatever the code makes of it. */
  fault: ErrorRecord | undefined;
  readonly #entries: Entry[];
  readonly #recorded: Set<string>;
  readonly #uses = new Map<string, number>();
  /** The last call of each name. */
  readonly #latest = new Map<string, Call>();
  readonly #payload: unknown;
  #next = 0;
  #mayRecord = false;
  #open = false;

  constructor(input: ExecutionInput) {
    this.workflow = input.workflow;
    this.run = input.run;
    this.sources = input.sources;
    this.#payload = input.payload;
    this.#entries = [...input.entries];
    this.#recorded = new Set(input.entries.map((entry) => entry.key));
  }

  /** Runs the code through the whole journal. With `record`, it then goes on recording: the run begins here. */
  async replay(record = false): Promise<void> {
    this.#open = true;
    this.#mayRecord = record;
    this.#start();
    await settled();
    for (let entry = this.#entries[this.#next]; entry !== undefined && this.divergence === undefined; entry = this.#entries[this.#next]) {
      if (!this.#deliver(entry)) break;
      await settled();
    }
    this.#open = false;
  }

  /** Hands the code one more result, and records what it does next. `journaled` is the form in which the journal keeps it. */
  async settle(entry: Entry, journaled: Entry): Promise<void> {
    this.#open = true;
    this.#mayRecord = true;
    this.#entries.push(entry);
    this.fresh.push(journaled);
    this.#deliver(entry);
    await settled();
    this.#open = false;
  }

  /** What it collected has been written. */
  committed(): void {
    this.fresh.length = 0;
    this.effects.length = 0;
  }

  /** Calls whose result is still to come, in the order in which they were made. */
  pending(): readonly Call[] {
    return [...this.calls.values()].filter((call) => call.state === 'pending');
  }

  abandoned(): readonly Call[] {
    return [...this.calls.values()].filter((call) => call.state === 'abandoned');
  }

  /** Compares what the code waits for with what the run has under way. */
  compareWith(live: readonly LiveStep[]): void {
    if (this.divergence !== undefined) return;
    const pending = this.pending();
    const types = new Map(live.map(({ key, type }) => [key, type]));
    const surplus = pending.filter((call) => types.get(call.key) !== call.type);
    const missing = pending.length - surplus.length < live.length;
    if (missing || surplus.length > 0) this.#diverge(`${listed(live)} under way`, this.#waitsFor());
  }

  /** A step call: the promise of its result. */
  call(name: string, seed: Pick<Call, 'type' | 'work' | 'reading'>): Promise<unknown> {
    this.checkOpen(name);
    const key = this.#keyFor(name);
    const call = new Call({ key, ...seed, place: this.#recorded.has(key) ? undefined : captured() });
    this.calls.set(key, call);
    this.#latest.set(name, call);
    return call.promise;
  }

  callOf(promise: Promise<unknown>): Call | undefined {
    return [...this.calls.values()].find((call) => call.promise === promise);
  }

  /**
   * A value that the code asks for in passing: from the journal, or made now and recorded with the next commit. `fresh` says which:
   * a fork asks again for what its journal has, and must not do again what goes with it.
   */
  passing(name: string, type: string, make: (key: string) => string): Passed {
    this.checkOpen(name);
    const count = (this.#uses.get(`${type}:${name}`) ?? 0) + 1;
    this.#uses.set(`${type}:${name}`, count);
    const key = keyOfUse(name, count);
    if (!this.recording) return { key, json: this.#recordedPassing(key, type), fresh: false };
    const json = make(key);
    this.#record({ key, type, result: { kind: 'value', json } });
    return { key, json, fresh: true };
  }

  /** Whether the run reaches this point first with the code that asks. */
  patched(id: string): boolean {
    this.checkOpen(id);
    const known = this.#uses.get(`$patched:${id}`);
    if (known !== undefined) return known === 1;
    const entry = this.#entries[this.#next];
    const marked = entry?.type === '$patched' && entry.key === id;
    const fresh = this.recording;
    if (marked) this.#next += 1;
    if (fresh) this.#record({ key: id, type: '$patched', result: { kind: 'value', json: 'true' } });
    this.#uses.set(`$patched:${id}`, marked || fresh ? 1 : 0);
    return marked || fresh;
  }

  /** True when the code is past what the journal has, and what it does is new. */
  get recording(): boolean {
    return this.#mayRecord && this.#next >= this.#entries.length;
  }

  /** Refuses a call at a time when the code should be waiting: it awaited something that is no step, or calls from inside one. */
  checkOpen(name: string): void {
    if (this.#open && this.ended === undefined) return;
    const why =
      this.ended === undefined
        ? 'while the run function should have been waiting for a step: either from inside another step’s function, or after it awaited something that is no step (fetch, a timer, a database read). Put that into step.run'
        : 'after the run function had ended: await every step that you start';
    const error = new KilnError('code.outside', `step "${name}" was called ${why}`);
    this.fault ??= toErrorRecord(error);
    throw error;
  }

  #start(): void {
    // The registry holds workflows of any types; the input was checked by this workflow's own schema.
    const workflow = this.workflow as unknown as { run(context: WorkflowContext<unknown, unknown>): unknown };
    const end = (ended: Ended): void => {
      if (!this.#open) {
        const message =
          'the run function ended while it should have been waiting for a step: it awaited something that is no step (fetch, a timer, a database read). Put that into step.run';
        this.fault ??= toErrorRecord(new KilnError('code.foreign_await', message));
      }
      this.ended = ended;
    };
    void (async () =>
      workflow.run({ event: { payload: this.#payload }, input: this.#input(), step: createStepApi(this), run: this.run }))().then(
      (value) => end({ kind: 'returned', value }),
      (error: unknown) => end({ kind: 'threw', error }),
    );
  }

  #input(): unknown {
    return this.workflow.input === undefined ? this.#payload : this.workflow.input.parse(this.#payload);
  }

  #deliver(entry: Entry): boolean {
    const call = this.calls.get(entry.key);
    if (isPassing(entry.type) || call?.type !== entry.type || call.state !== 'pending') {
      this.#diverge(described(entry), this.#waitsFor());
      return false;
    }
    this.#next += 1;
    const { result } = entry;
    if (result.kind === 'value') call.succeed(result.json);
    else if (result.kind === 'error') call.fail(result.error, (record) => stepFailure(call.key, record));
    else throw new KilnError('internal', `the stored value of "${entry.key}" was not loaded`);
    return true;
  }

  #recordedPassing(key: string, type: string): string {
    const entry = this.#entries[this.#next];
    if (entry?.key === key && entry.type === type && entry.result.kind === 'value') {
      this.#next += 1;
      return entry.result.json;
    }
    this.#diverge(entry === undefined ? 'nothing' : described(entry), `the code calls ${described({ key, type })}`);
    // The code may not go on: what it would do next was never done.
    throw new KilnError('run.diverged', 'the code no longer matches what the run has recorded');
  }

  #record(entry: Entry): void {
    this.#entries.push(entry);
    this.#next += 1;
    this.fresh.push(entry);
  }

  #keyFor(name: string): string {
    const uses = this.#uses.get(name) ?? 0;
    const before = this.#latest.get(name);
    if (before?.state === 'pending') {
      throw new KilnError(
        'code.name_twice',
        `two steps are named "${name}" at the same time: the first is called ${placeOf(before.place)}, the second ${placeOf(captured())}. Give each its own name, for example \`${name}-\${id}\`; one after the other, the same name may be used again.`,
      );
    }
    this.#uses.set(name, uses + 1);
    return keyOfUse(name, uses + 1);
  }

  #waitsFor(): string {
    if (this.ended !== undefined)
      return this.ended.kind === 'returned' ? 'the code has returned' : `the code has thrown: ${String(this.ended.error)}`;
    const pending = this.pending();
    return pending.length === 0 ? 'the code calls no step' : `the code waits for ${listed(pending)}`;
  }

  #diverge(recorded: string, found: string): void {
    this.divergence ??= { position: this.#next, recorded, found };
  }
}

/** Everything that follows without I/O has happened: a tick is taken up only when no microtask is left. */
function settled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

const passingNames: Readonly<Record<string, string>> = {
  $now: 'step.now()',
  $random: 'step.random()',
  $uuid: 'step.uuid()',
  $patched: 'step.patched',
  $undo: 'step.onCompensate',
  $send: 'step.sendEvent',
  $state: 'step.setState',
};

function described({ key, type }: LiveStep): string {
  return `${passingNames[type] ?? `step ${type}`} "${key}"`;
}

function listed(steps: readonly LiveStep[]): string {
  return steps.length === 0
    ? 'no step'
    : steps.slice(0, 5).map(described).join(', ') + (steps.length > 5 ? ` and ${steps.length - 5} more` : '');
}

function captured(): { readonly stack?: string } {
  const place = {};
  Error.captureStackTrace(place);
  return place;
}

/** The first line of a stack that is the team's own code. */
function placeOf(place: { readonly stack?: string } | undefined): string {
  const own = place?.stack
    ?.split('\n')
    .find((line) => line.includes(' at ') && !/[\\/]durable[\\/](?:replay|step-calls|call)\.[jt]s/.test(line));
  return own === undefined ? 'earlier' : own.trim();
}
