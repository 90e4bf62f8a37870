import type { Doorbells } from '../runner/runtime.ts';

const TICK_MS = 1_000;

/**
 * Timers where no task queue exists (a plain `firebase emulators:start`): while something waits, the reconciler runs each second.
 * Only for the emulator; the timer does not keep the process alive.
 */
export class TickingDoorbells implements Doorbells {
  readonly #tick: () => Promise<unknown>;
  #ticking = false;
  #busy = false;

  constructor(tick: () => Promise<unknown>) {
    this.#tick = tick;
  }

  arm(): Promise<void> {
    if (!this.#ticking) setInterval(() => void this.#run(), TICK_MS).unref();
    this.#ticking = true;
    return Promise.resolve();
  }

  async #run(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    try {
      await this.#tick();
    } finally {
      this.#busy = false;
    }
  }
}
