import { NonRetryable, RetryAfter } from '../durable/api.ts';
import type { StepContext } from '../durable/api.ts';

/** How the examples reach other systems. A team puts its own SDKs here. */
export interface Outside {
  /** Asks or tells a system; the answer is JSON. With a key, saying it twice is saying it once. */
  call<T>(system: string, path: string, body: unknown, context?: Partial<StepContext>): Promise<T>;
}

/**
 * JSON over HTTP to the systems named in the environment: `PAYMENTS_URL`, `WAREHOUSE_URL`, …, each with an optional token in
 * `PAYMENTS_TOKEN`, ….
 */
export const outside: Outside = {
  async call(system, path, body, { idempotencyKey, signal } = {}) {
    const base = process.env[`${system.toUpperCase()}_URL`];
    if (base === undefined) throw new NonRetryable(`${system.toUpperCase()}_URL is not set: the example cannot reach ${system}`);
    const token = process.env[`${system.toUpperCase()}_TOKEN`];
    const response = await fetch(new URL(path, base), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      body: JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    });
    if (response.ok) return (await response.json()) as never;
    const text = (await response.text()).slice(0, 500);
    if (response.status === 429) throw new RetryAfter(Number(response.headers.get('retry-after') ?? 30), `${system} asks to slow down`);
    if (response.status < 500) throw new NonRetryable(`${system} refused: ${response.status} ${text}`);
    throw new Error(`${system} failed: ${response.status} ${text}`);
  },
};
