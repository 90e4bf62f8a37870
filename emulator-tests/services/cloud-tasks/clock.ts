/**
 * Time that tests can move. It runs with real time from its offset, or stands still when frozen; it never goes back, as
 * the time of the real service does not.
 */
export class MovableClock {
  #offset = 0;
  readonly #base: () => number;

  constructor(options: { readonly frozenAt?: number } = {}) {
    const { frozenAt } = options;
    this.#base = frozenAt === undefined ? () => Date.now() : () => frozenAt;
  }

  now(): number {
    return this.#base() + this.#offset;
  }

  /** How far this clock is ahead of the machine's (or of its frozen start). */
  get offset(): number {
    return this.#offset;
  }

  /** Moves forward to `timeMs`; a time already past changes nothing. */
  moveTo(timeMs: number): void {
    const ahead = timeMs - this.now();
    if (ahead > 0) this.#offset += ahead;
  }

  /** Puts back an offset that an earlier process had reached. */
  restoreOffset(offset: number): void {
    if (offset > this.#offset) this.#offset = offset;
  }
}
