import { KilnError } from '../model/errors.ts';
import { controlTypes } from '../model/definition.ts';
import type { AnyStepType, StepType } from './step-type.ts';

/** The step types that this deployment knows. Adding one is a file and a line in `steps/index.ts`. */
export class StepRegistry {
  readonly #types = new Map<string, AnyStepType>();

  constructor(types: readonly StepType[]) {
    for (const type of types) {
      const taken = this.#types.has(type.type) || (controlTypes as readonly string[]).includes(type.type);
      if (taken) throw new Error(`two step types are named "${type.type}"`);
      this.#types.set(type.type, type);
    }
  }

  find(type: string): AnyStepType | undefined {
    return this.#types.get(type);
  }

  get(type: string): AnyStepType {
    const found = this.#types.get(type);
    if (found === undefined) throw new KilnError('step.unknown_type', `no step type "${type}"; known: ${this.names().join(', ')}`);
    return found;
  }

  names(): string[] {
    return [...controlTypes, ...this.#types.keys()].sort();
  }

  all(): readonly AnyStepType[] {
    return [...this.#types.values()];
  }
}
