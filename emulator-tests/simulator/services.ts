import { canonicalJson } from '../../functions/src/engine/json.ts';
import type { Json } from '../../functions/src/engine/json.ts';
import type { Deliver } from '../../functions/src/ledger/outbox.ts';
import { KilnError } from '../../functions/src/model/errors.ts';
import type { RunFollower } from '../../functions/src/runner/runtime.ts';
import { ActionRegistry } from '../../functions/src/steps/action-registry.ts';
import type { Action, ActionContext } from '../../functions/src/steps/action-registry.ts';
import { Violation } from './violation.ts';
import { currentInvocation } from './world.ts';
import type { Invocation } from './jobs.ts';
import type { World } from './world.ts';

/** One call of an outside system, as that system and its caller saw it. */
export interface Execution {
  readonly key: string;
  readonly input: string;
  readonly attempt: number;
  applied: boolean;
  /** The caller was told, for certain, that nothing happened. */
  clean: boolean;
}

export type CallContext = Omit<ActionContext, 'runId'>;

/** Takes whatever comes, as it is. */
const anything = { safeParse: (data: unknown) => ({ success: true, data }) } as unknown as Action['input'];

/** The systems that steps act on. `keyed` honours the idempotency key; `charge` does what it is told, each time. */
export class Outside {
  readonly executions = new Map<string, Execution[]>();
  /** How often each effect took place, seen from outside: by system and key. */
  readonly effects = new Map<string, number>();
  readonly mails = new Map<string, number>();
  readonly followed = new Map<string, number>();
  readonly #world: World;
  readonly #deterministic: boolean;

  constructor(world: World, deterministic: boolean) {
    this.#world = world;
    this.#deterministic = deterministic;
  }

  actions(invocation: Invocation): ActionRegistry {
    return new ActionRegistry([
      {
        name: 'keyed',
        input: anything,
        output: anything,
        idempotent: true,
        run: (input, context) => this.#call(invocation, 'keyed', input as object, context),
      },
      {
        name: 'charge',
        input: anything,
        output: anything,
        run: (input, context) => this.#call(invocation, 'charge', input as object, context),
      },
    ]);
  }

  /** The same from a code workflow's step, in the name of whoever performs it. */
  async callFromCode(system: 'keyed' | 'charge', input: object, context: CallContext): Promise<Json> {
    const invocation = currentInvocation.getStore();
    if (invocation === undefined) throw new Error('nobody performs this step');
    return this.#call(invocation, system, input, context);
  }

  /** Mail is sent at least once; the receiver tells copies apart by the id. */
  deliver(invocation: Invocation): Deliver {
    return async (_runtime, record) => {
      const fate = await this.#world.park(invocation, 'call', `mail ${record.id.slice(0, 6)}`);
      if (this.#world.random.chance(this.#world.faults.callFails))
        throw new KilnError('http.server_error', 'the mail service answered 503');
      const id = `${record.accountId}/${record.id}`;
      this.mails.set(id, (this.mails.get(id) ?? 0) + 1);
      this.#world.counters.operation('mail sent');
      await this.#world.settle(invocation, 'mail', fate);
    };
  }

  follower(invocation: Invocation): RunFollower {
    return async (_runtime, run) => {
      const fate = await this.#world.park(invocation, 'call', `follow ${run.runId}`);
      const id = `${run.accountId}/${run.runId}`;
      this.followed.set(id, (this.followed.get(id) ?? 0) + 1);
      this.#world.counters.operation('follower called');
      await this.#world.settle(invocation, 'follow', fate);
    };
  }

  async #call(invocation: Invocation, system: 'keyed' | 'charge', given: object, context: CallContext): Promise<Answer> {
    const world = this.#world;
    const input = canonicalJson(given);
    const what = `${system} ${context.idempotencyKey.slice(5, 11)} attempt ${context.attempt}`;
    const fate = await world.park(invocation, 'call', what);
    const execution: Execution = {
      // Run ids are unguessable in production; here they are the same in every account.
      key: `${system}:${context.accountId}:${context.idempotencyKey}`,
      input,
      attempt: context.attempt,
      applied: false,
      clean: false,
    };
    this.#check(system, execution);
    this.executions.set(execution.key, [...(this.executions.get(execution.key) ?? []), execution]);
    await this.#happens(invocation, system, execution, context.signal);
    if (fate === 'lose_reply') throw new KilnError('http.interrupted', `the answer of ${system} was lost`);
    await world.settle(invocation, `call ${what}`, fate);
    return { did: JSON.parse(input) as Json };
  }

  /** What the system does with the call, and what of that the caller gets to know. */
  async #happens(invocation: Invocation, system: string, execution: Execution, signal: AbortSignal): Promise<void> {
    const { random, faults, counters } = this.#world;
    if (random.chance(faults.callFails)) {
      execution.clean = true;
      const final = !this.#deterministic && random.chance(0.1);
      counters.fault(final ? 'call failed (final)' : 'call failed (retryable)');
      if (final) throw new KilnError('http.client_error', `${system} refused`);
      if (random.chance(0.5)) throw new KilnError('http.server_error', `${system} answered 503`);
      throw new KilnError('http.rate_limited', `${system} answered 429`, { retryAfterMs: 1_000 + random.int(90_000) });
    }
    const unknown = random.chance(faults.callUnknown);
    const hangs = random.chance(faults.callHangs);
    if ((!unknown && !hangs) || random.chance(0.5)) this.#apply(execution);
    if (unknown) {
      counters.fault('call outcome unknown');
      throw new KilnError('http.interrupted', `the connection to ${system} broke`);
    }
    if (hangs) {
      counters.fault('call hung');
      this.#world.say(`#${invocation.id} hangs`);
      await new Promise<never>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    }
  }

  #apply(execution: Execution): void {
    execution.applied = true;
    const before = this.effects.get(execution.key) ?? 0;
    // A system that honours the key answers a second call from memory.
    this.effects.set(execution.key, execution.key.startsWith('keyed:') ? 1 : before + 1);
  }

  #check(system: 'keyed' | 'charge', execution: Execution): void {
    const earlier = this.executions.get(execution.key) ?? [];
    const first = earlier[0];
    if (first !== undefined && first.input !== execution.input) {
      this.#world.fail(
        new Violation('one effect, one input', `${execution.key} was called with ${first.input} and then with ${execution.input}`),
      );
    }
    const open = earlier.find((one) => !one.clean);
    if (system === 'charge' && open !== undefined) {
      const text = `attempt ${execution.attempt} of ${execution.key} repeats attempt ${open.attempt}, whose outcome is not known`;
      this.#world.fail(new Violation('an unknown outcome is never silently repeated', text));
    }
  }
}

// A type, not an interface: so it is JSON.
type Answer = { did: Json };
