import { asObject, asString, parseJson } from '../services/json-fields.ts';
import type { TransactionEvent } from './wire.ts';

/** The emulator numbers a project's transactions: a byte 0x11 and a little-endian count. */
function countOf(id: string): bigint | undefined {
  const bytes = Buffer.from(id, 'base64');
  return bytes.length === 9 && bytes[0] === 0x11 ? bytes.readBigUInt64LE(1) : undefined;
}

function idOf(count: bigint): string {
  const bytes = Buffer.alloc(9);
  bytes[0] = 0x11;
  bytes.writeBigUInt64LE(count, 1);
  return bytes.toString('base64');
}

/**
 * A transaction whose client died keeps its locks until it is found idle, about a minute later, and everybody else waits.
 * Tests do not prove more by that minute, so after a kill what the dead process had begun is rolled back. Another client of the
 * project that is hit by it is told that its transaction expired, and repeats it.
 */
export class AbandonedTransactions {
  readonly #url: string;
  #open = new Set<string>();
  #ended = new Set<string>();
  #swept = 0n;

  constructor(firestoreHost: string, projectId: string) {
    this.#url = `http://${firestoreHost}/v1/projects/${projectId}/databases/(default)/documents`;
  }

  saw(event: TransactionEvent): void {
    if (event.open) this.#open.add(event.id);
    else {
      this.#open.delete(event.id);
      this.#ended.add(event.id);
    }
  }

  async rollBack(): Promise<void> {
    // Those of which the dead process had not told: everything up to the newest number that is not known to have ended.
    const newest = await this.#begin();
    const newestCount = newest === undefined ? undefined : countOf(newest);
    const abandoned = new Set(this.#open);
    if (newest !== undefined) abandoned.add(newest);
    if (newestCount !== undefined) {
      for (let count = this.#swept + 1n; count < newestCount; count += 1n) if (!this.#ended.has(idOf(count))) abandoned.add(idOf(count));
      this.#swept = newestCount;
    }
    this.#open = new Set();
    this.#ended = new Set();
    // One that had ended after all is unknown to the emulator, which is as good.
    await Promise.allSettled([...abandoned].map((transaction) => this.#post('rollback', { transaction })));
  }

  async #begin(): Promise<string | undefined> {
    const answer = await this.#post('beginTransaction', {}).catch(() => undefined);
    return asString(asObject(parseJson(answer ?? ''))?.['transaction']);
  }

  async #post(method: string, body: object): Promise<string> {
    const response = await fetch(`${this.#url}:${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer owner' },
      body: JSON.stringify(body),
    });
    return response.text();
  }
}
