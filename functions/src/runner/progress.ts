import { stepPath } from '../ledger/steps.ts';
import type { Held } from '../ledger/steps.ts';
import type { StepProgress } from '../model/step.ts';
import type { Runtime } from './runtime.ts';

const EVERY_MS = 1_000;
/** The end of the text is what people see. */
const SHOWN_CHARS = 4_000;

/**
 * Shows on the step what an attempt has so far, at most once a second, and nothing of an attempt that is over sooner. Each write is
 * fenced by the one before it: when anything else touches the step, it is the last. What is lost is lost; the result comes anyway.
 */
export class AttemptProgress {
  readonly #runtime: Runtime;
  readonly #held: Held;
  #updateTime: string | undefined;
  #lastAt: number;
  #writing: Promise<void> | undefined;

  constructor(runtime: Runtime, held: Held) {
    this.#runtime = runtime;
    this.#held = held;
    this.#updateTime = held.updateTime;
    this.#lastAt = runtime.clock.now();
  }

  show(text: string): void {
    const at = this.#runtime.clock.now();
    if (this.#updateTime === undefined || this.#writing !== undefined || at - this.#lastAt < EVERY_MS) return;
    this.#lastAt = at;
    const { attempt } = this.#held.record;
    const progress: StepProgress = { attempt, chars: text.length, text: text.slice(-SHOWN_CHARS).toWellFormed(), at };
    this.#writing = this.#write(progress, this.#updateTime).finally(() => (this.#writing = undefined));
  }

  /** The attempt is over: what comes now shows nowhere, and the result meets no write of ours. */
  async close(): Promise<void> {
    this.#updateTime = undefined;
    await this.#writing;
  }

  async #write(progress: StepProgress, ifUpdateTime: string): Promise<void> {
    try {
      const { updateTime } = await this.#runtime.store.commit([
        { op: 'update', path: stepPath(this.#held.record), data: { progress }, ifUpdateTime },
      ]);
      if (this.#updateTime !== undefined) this.#updateTime = updateTime;
    } catch {
      // Also when it was written and we were not told: then the fence is another.
      this.#updateTime = undefined;
    }
  }
}
