import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The systems that the example workflows call: counts what was asked and what was applied under each key. */
export class Outside {
  readonly asked: string[] = [];
  readonly applied = new Map<string, string>();
  /** Called before an answer is given; the answer waits for it. */
  onCall: ((path: string) => Promise<void>) | undefined;
  #url = '';
  readonly #answers: Readonly<Record<string, unknown>>;
  readonly #server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      const path = request.url ?? '';
      this.asked.push(path);
      const key = request.headers['idempotency-key'];
      // A target that honours keys applies each once, whenever it comes again.
      if (typeof key === 'string') this.applied.set(key, path);
      const answer = (): void =>
        void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(this.#answers[path] ?? null));
      void (this.onCall?.(path) ?? Promise.resolve()).then(answer);
    });
  });

  constructor(answers: Readonly<Record<string, unknown>>) {
    this.#answers = answers;
  }

  /** Where the named systems are, as the examples read it from their environment. */
  async start(...systems: readonly string[]): Promise<Record<string, string>> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.#url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return Object.fromEntries(systems.map((system) => [`${system.toUpperCase()}_URL`, this.#url]));
  }

  forget(): void {
    this.asked.length = 0;
    this.applied.clear();
    this.onCall = undefined;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
