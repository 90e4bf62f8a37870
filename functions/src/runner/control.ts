import type { Store } from '../ledger/store.ts';
import { paths } from '../model/paths.ts';
import type { Control } from './runtime.ts';

const FRESH_MS = 30_000;

/** The kill switch: `system/control {halted: true}` stops all advancing within 30 s. Read at most every 30 s per instance. */
export class StoredControl implements Control {
  readonly #store: Store;
  readonly #now: () => number;
  #readAt = -Infinity;
  #halted = false;

  constructor(store: Store, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  async halted(): Promise<boolean> {
    if (this.#now() - this.#readAt >= FRESH_MS) {
      const { docs } = await this.#store.get([paths.control]);
      this.#halted = docs[0]?.data['halted'] === true;
      this.#readAt = this.#now();
    }
    return this.#halted;
  }
}
