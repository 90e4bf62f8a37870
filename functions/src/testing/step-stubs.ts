import type { StepContext } from '../durable/step-api.ts';
import type { Intercept } from '../durable/replayer.ts';
import type { StepRecord } from '../model/step.ts';
import { StepRegistry } from '../steps/registry.ts';
import type { EffectStepType, StepType } from '../steps/step-type.ts';

/** What a step does in a test instead of what it does. */
export type Stub = (context: StepContext) => unknown;

/** Replacements and failures of steps by their names, for code workflows and graph workflows alike. */
export class StepStubs {
  readonly #mocks = new Map<string, Stub>();
  readonly #failures = new Map<string, { left: number; readonly error: Error }>();

  mock(name: string, fn: Stub): void {
    this.#mocks.set(name, fn);
  }

  fail(name: string, times: number, error: Error): void {
    this.#failures.set(name, { left: times, error });
  }

  /** The function of a code step, with what the test put in its place. */
  around: Intercept = (record, fn) => (context) => {
    const names = namesOf(record);
    this.#throwWhereTold(names);
    const stub = this.#stubFor(names);
    return stub === undefined ? fn(context) : stub(context as StepContext);
  };

  /** The step types, with the same around what they perform. */
  registryOf(registry: StepRegistry): StepRegistry {
    const types = registry.all().map((type) => (type.kind === 'effect' ? this.#wrapped(type) : type));
    return new StepRegistry(types as unknown as readonly StepType[]);
  }

  #wrapped(type: EffectStepType<object>): EffectStepType<object> {
    return {
      ...type,
      // What the environment lacks does not matter to a step that the test performs.
      preflight: (config, context) =>
        this.#stubFor([context.place.step.id]) === undefined ? (type.preflight?.(config, context) ?? []) : [],
      perform: async (context) => {
        const names = [context.ref.key, lastName(context.ref.key)];
        this.#throwWhereTold(names);
        const stub = this.#stubFor(names);
        return stub === undefined ? type.perform(context) : { output: await stub(context) };
      },
    };
  }

  #throwWhereTold(names: readonly string[]): void {
    for (const name of names) {
      const failure = this.#failures.get(name);
      if (failure === undefined || failure.left === 0) continue;
      failure.left -= 1;
      throw failure.error;
    }
  }

  #stubFor(names: readonly string[]): Stub | undefined {
    return names.map((name) => this.#mocks.get(name)).find((stub) => stub !== undefined);
  }
}

/** A step answers to its key and to its name. Compensations answer to the name that they were registered under. */
function namesOf({ key, stepId }: StepRecord): string[] {
  return [...new Set([key, stepId, stepId.replace(/^\$undo\./, '')])];
}

function lastName(key: string): string {
  return (key.split('.').at(-1) ?? key).split('#')[0] ?? key;
}
