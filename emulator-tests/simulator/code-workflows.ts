import { BusinessException } from '../../functions/src/durable/errors.ts';
import type { AnyCodeWorkflow, WorkflowContext } from '../../functions/src/durable/define-workflow.ts';
import type { StepApi } from '../../functions/src/durable/step-api.ts';
import type { Json } from '../../functions/src/engine/json.ts';
import type { Act, Program } from './programs.ts';
import type { CallContext } from './services.ts';

type Call = (system: 'keyed' | 'charge', input: object, context: CallContext) => Promise<Json>;
type InAccount = (system: 'keyed' | 'charge', input: object, context: StepContext) => Promise<Json>;
type StepContext = Omit<CallContext, 'accountId'>;

interface Input {
  readonly n: number;
  readonly text: string;
}

/** A program as a workflow in code. `call` reaches the outside in the name of whoever performs the step. */
export function workflowOf(program: Program, call: Call, onError: 'compensate' | 'fail'): AnyCodeWorkflow {
  return {
    id: program.id,
    kind: 'code',
    version: 1,
    timeout: '30d',
    onError,
    run: ({ step, input, run }: WorkflowContext<Input, Input>) => {
      const inAccount: InAccount = (system, given, context) => call(system, given, { ...context, accountId: run.accountId });
      return new Execution(step, input, `accounts/${run.accountId}/counters/${run.id}`, inAccount).list(program.acts, '');
    },
  };
}

/** So that what a step comes to is decided by what it does, however many of its processes die. */
const PATIENT = { retry: { maxAttempts: 100 } };

class Execution {
  readonly #step: StepApi;
  readonly #input: Input;
  readonly #counter: string;
  readonly #call: InAccount;

  constructor(step: StepApi, input: Input, counter: string, call: InAccount) {
    this.#step = step;
    this.#input = input;
    this.#counter = counter;
    this.#call = call;
  }

  /** `path` tells the turns of a loop apart. */
  async list(acts: readonly Act[], path: string): Promise<Json> {
    const values: Json[] = [];
    for (const act of acts) values.push(await this.#act(act, path));
    return values;
  }

  async #act(act: Act, path: string): Promise<Json> {
    switch (act.do) {
      case 'if':
        return this.list(this.#input.n > act.over ? act.then : act.else, path);
      case 'each': {
        const values: Json[] = [];
        for (let i = 0; i < act.times; i += 1) values.push(await this.list(act.body, `${path}.${i}`));
        return values;
      }
      case 'try':
        try {
          return await this.list(act.body, path);
        } catch (error) {
          return { caught: codeOf(error), then: await this.list(act.caught, path) };
        }
      case 'all':
        return Promise.all(act.branches.map((acts) => this.list(acts, path)));
      case 'race': {
        const branches = Object.fromEntries(act.branches.map((one, i) => [`b${i}`, this.#start(one, path)]));
        const { winner } = await this.#step.race(branches);
        return { winner };
      }
      case 'passing':
        this.#step[act.what]();
        return act.what;
      case 'throw':
        throw new BusinessException(act.code);
      case 'undo':
        this.#step.onCompensate(act.name + path, (context) => this.#call('keyed', { undo: act.name }, context));
        return 'undo';
      default:
        return comparableOf(act, await this.#start(act, path));
    }
  }

  /** The step itself, without anything around its promise: that is what can race. */
  #start(act: Act, path: string): Promise<unknown> {
    const step = this.#step;
    switch (act.do) {
      case 'call': {
        const options = act.system === 'charge' ? { idempotent: false, timeout: '20s' } : { timeout: '20s', ...PATIENT };
        return step.run(act.name + path, options, (context) => this.#call(act.system, { v: act.value }, context));
      }
      case 'fail':
        return step.run(act.name + path, PATIENT, () => {
          throw new BusinessException(act.code);
        });
      case 'sleep':
        return step.sleep(act.name + path, act.for);
      case 'event':
        return step.waitForEvent(act.name + path, {
          event: `ev-${act.name}`,
          timeout: act.timeout,
          ...(act.key ? { key: this.#input.text } : {}),
        });
      case 'approval': {
        const { quorum, deadline } = act;
        return step.waitForApproval(act.name + path, {
          title: `Decide ${act.name}`,
          approvers: { users: ['ann', 'bob', 'cid'] },
          fourEyes: false,
          deadline,
          quorum: typeof quorum === 'number' ? { quorum } : quorum,
        });
      }
      case 'count':
        return step.transaction(act.name + path, async (tx) => {
          const n = Number((await tx.get(this.#counter))?.['n'] ?? 0) + 1;
          tx.set(this.#counter, { n });
          return { counted: true };
        });
      case 'invoke':
        return step.invoke(act.name + path, act.workflow, { n: act.n, text: 'child', items: [1, 2] });
      case 'send':
        return step.sendEvent(act.name + path, { event: act.event, key: this.#input.text, payload: { ok: true } });
      default:
        return Promise.reject(new Error(`${act.do} is no step`));
    }
  }
}

/** Of what a step came to, the part that neither time nor chance decides. */
function comparableOf(act: Act, value: unknown): Json {
  switch (act.do) {
    case 'event':
      return { received: value !== null };
    case 'approval':
      return { outcome: (value as { readonly outcome: string }).outcome };
    case 'sleep':
      return 'slept';
    case 'send':
      return 'sent';
    default:
      return value as Json;
  }
}

export function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : String(error);
}
