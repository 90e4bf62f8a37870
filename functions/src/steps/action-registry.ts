import type { z } from 'zod';
import { KilnError } from '../model/errors.ts';

export interface ActionContext {
  readonly idempotencyKey: string;
  readonly attempt: number;
  readonly signal: AbortSignal;
  readonly runId: string;
  readonly accountId: string;
}

/** A function of the team's own code that graph workflows call by name. */
export interface Action<I = unknown, O = unknown> {
  readonly name: string;
  readonly description?: string;
  readonly input: z.ZodType<I>;
  readonly output: z.ZodType<O>;
  /** True when repeating it with the same idempotency key is harmless. Default false. */
  readonly idempotent?: boolean;
  /** True when it changes nothing outside. */
  readonly readOnly?: boolean;
  run(input: I, context: ActionContext): Promise<O> | O;
}

/** Declares an action; the types of `run` follow from the schemas, which check every call. */
export function defineAction<I, O>(action: Action<I, O>): Action {
  return action;
}

export class ActionRegistry {
  readonly #actions = new Map<string, Action>();

  constructor(actions: readonly Action[] = []) {
    for (const action of actions) {
      if (this.#actions.has(action.name)) throw new Error(`two actions are named "${action.name}"`);
      this.#actions.set(action.name, action);
    }
  }

  find(name: string): Action | undefined {
    return this.#actions.get(name);
  }

  get(name: string): Action {
    const action = this.#actions.get(name);
    if (action === undefined)
      throw new KilnError('step.action_unknown', `no action named "${name}" is registered; known: ${this.names().join(', ') || 'none'}`);
    return action;
  }

  names(): string[] {
    return [...this.#actions.keys()].sort();
  }
}
