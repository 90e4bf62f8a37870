import { asArray, asNumber, asObject, asString } from './json-fields.ts';

/** A fault that a test queued for a local service. */
export interface ScriptedFault {
  readonly kind: string;
  /** How many more requests it hits. */
  readonly times: number;
  /** Hits only requests whose text contains this. */
  readonly match?: string;
  readonly retryAfterSeconds?: number;
}

/** Faults in the order in which they were queued. */
export class ScriptedFaults {
  #queue: ScriptedFault[] = [];
  readonly #kinds: readonly string[];

  constructor(kinds: readonly string[]) {
    this.#kinds = kinds;
  }

  get pending(): readonly ScriptedFault[] {
    return this.#queue;
  }

  add(fault: { readonly kind: string; readonly times?: number; readonly match?: string; readonly retryAfterSeconds?: number }): void {
    if (!this.#kinds.includes(fault.kind)) throw new Error(`Unknown fault "${fault.kind}". Known: ${this.#kinds.join(', ')}.`);
    this.#queue.push({ ...fault, times: fault.times ?? 1 });
  }

  clear(): void {
    this.#queue = [];
  }

  /** Reads `{faults: [...]}`, a list, or one fault from a control request. */
  addFrom(body: unknown): void {
    const list = Array.isArray(body) ? asArray(body) : asArray(asObject(body)?.['faults'] ?? [body]);
    for (const item of list) {
      const fields = asObject(item) ?? {};
      const times = asNumber(fields['times']);
      const match = asString(fields['match']);
      const retryAfterSeconds = asNumber(fields['retryAfterSeconds']);
      this.add({
        kind: asString(fields['kind']) ?? '',
        ...(times === undefined ? {} : { times }),
        ...(match === undefined ? {} : { match }),
        ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
      });
    }
  }

  /** Takes one use of the first fault that fits `text`. */
  take(text: string): ScriptedFault | undefined {
    const index = this.#queue.findIndex((fault) => fault.match === undefined || text.includes(fault.match));
    const fault = this.#queue[index];
    if (fault === undefined) return undefined;
    if (fault.times <= 1) this.#queue.splice(index, 1);
    else this.#queue[index] = { ...fault, times: fault.times - 1 };
    return fault;
  }
}
