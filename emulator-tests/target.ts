import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Call {
  readonly key: string;
  readonly body: Record<string, unknown>;
}

type Answer = (
  call: Call,
  nth: number,
) => { status?: number; headers?: Record<string, string>; body?: unknown; afterMs?: number; hang?: boolean };

/** An outside system: remembers every call, and does what the test says. */
export class Target {
  readonly calls: Call[] = [];
  answer: Answer = ({ body }) => ({ body });
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const key = String(request.headers['idempotency-key']);
      const call = { key, body: JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown> };
      this.calls.push(call);
      const {
        status = 200,
        headers = {},
        body = null,
        afterMs = 0,
        hang = false,
      } = this.answer(call, this.calls.filter((one) => one.key === key).length);
      if (hang) return;
      setTimeout(() => response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body)), afterMs);
    });
  });

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** Calls that carried each key. */
  perKey(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { key } of this.calls) counts.set(key, (counts.get(key) ?? 0) + 1);
    return counts;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
