import type { MemoryStoreHooks } from '../ledger/memory-store.ts';

/** The process dies here: nothing after it runs, and the platform delivers again. */
export class Killed extends Error {
  override readonly name = 'Killed';
}

/** Whether the process dies before an I/O operation takes effect, or after it, when its answer is lost. */
export type Moment = 'before' | 'after';

/** A process that dies at its k-th I/O operation, and does nothing more until the next delivery. */
export class MortalProcess {
  operations = 0;
  readonly hooks: Pick<MemoryStoreHooks, 'before' | 'after'>;
  readonly #k: number;
  readonly #moment: Moment;
  #struck = false;
  #dead = false;

  constructor(k: number, moment: Moment) {
    this.#k = k;
    this.#moment = moment;
    this.hooks = { before: () => this.#at('before'), after: () => this.#at('after') };
  }

  /** For the host: whether to deliver again. The next delivery finds a living process. */
  readonly redelivers = (error: unknown): boolean => {
    this.#dead = false;
    return error instanceof Killed;
  };

  /** A caller that was not answered asks again. */
  async insist<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      if (!this.redelivers(error)) throw error;
      return ask();
    }
  }

  #at(moment: Moment): Promise<void> {
    if (this.#dead) return Promise.reject(new Killed('dead already'));
    if (moment === 'before') this.operations += 1;
    if (this.#struck || this.operations !== this.#k || moment !== this.#moment) return Promise.resolve();
    this.#struck = true;
    this.#dead = true;
    return Promise.reject(new Killed(`killed ${moment} operation ${this.#k}`));
  }
}
