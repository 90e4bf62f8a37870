/**
 * Work of which one suffices for all who ask meanwhile: while it is under way, everybody who comes shares the next one. It begins
 * after they came, so it sees what they left for it.
 */
export class OneAtATime {
  readonly #running = new Map<string, Promise<void>>();
  readonly #next = new Map<string, Promise<void>>();

  run(key: string, work: () => Promise<void>): Promise<void> {
    const running = this.#running.get(key);
    if (running === undefined) return this.#begin(key, work);
    const next = this.#next.get(key) ?? running.catch(() => undefined).then(() => this.#takeOver(key, work));
    this.#next.set(key, next);
    return next;
  }

  #takeOver(key: string, work: () => Promise<void>): Promise<void> {
    this.#next.delete(key);
    return this.#begin(key, work);
  }

  #begin(key: string, work: () => Promise<void>): Promise<void> {
    const promise = work().finally(() => {
      if (this.#running.get(key) === promise) this.#running.delete(key);
    });
    this.#running.set(key, promise);
    return promise;
  }
}
