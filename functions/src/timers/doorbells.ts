import type { CloudTasksClient } from '@google-cloud/tasks';
import { digest } from '../engine/json.ts';
import { paths } from '../model/paths.ts';
import type { StepRef } from '../model/paths.ts';
import type { Doorbells } from '../runner/runtime.ts';
import type { Ring } from './ring.ts';

/** Cloud Tasks keeps a task for at most 30 days; a hop of a week leaves room for delays. */
export const MAX_HOP_MS = 7 * 24 * 60 * 60 * 1_000;

const ALREADY_EXISTS = 6;
const CREATE_TIMEOUT_MS = 10_000;

export interface DoorbellConfig {
  readonly project: string;
  readonly region: string;
  /** The queue, named after the function that it rings. */
  readonly queue: string;
  readonly url: string;
  /** Whose OIDC token the task carries; absent against the local double. */
  readonly serviceAccount?: string;
}

/**
 * Doorbells on Cloud Tasks. The name is a hash of step, wake time, hop and state: arming the same ring twice is one task, and an early
 * ring is armed again under a fresh name, since used names are refused for hours.
 */
export class CloudTasksDoorbells implements Doorbells {
  readonly #client: () => Promise<CloudTasksClient>;
  readonly #config: DoorbellConfig;
  readonly #now: () => number;

  constructor(client: () => Promise<CloudTasksClient>, config: DoorbellConfig, now: () => number) {
    this.#client = client;
    this.#config = config;
    this.#now = now;
  }

  async arm(ref: StepRef, at: number, hop: number, state = ''): Promise<void> {
    const { project, region, queue, url, serviceAccount } = this.#config;
    const client = await this.#client();
    const parent = client.queuePath(project, region, queue);
    const ring: Ring = { accountId: ref.accountId, runId: ref.runId, key: ref.key, hop };
    const due = Math.min(at, this.#now() + MAX_HOP_MS);
    const task = {
      name: `${parent}/tasks/${ringName(ref, at, hop, state)}`,
      scheduleTime: { seconds: Math.floor(due / 1_000), nanos: (due % 1_000) * 1_000_000 },
      httpRequest: {
        httpMethod: 'POST' as const,
        url,
        headers: { 'Content-Type': 'application/json' },
        body: Buffer.from(JSON.stringify({ data: ring })).toString('base64'),
        ...(serviceAccount === undefined ? {} : { oidcToken: { serviceAccountEmail: serviceAccount, audience: url } }),
      },
    };
    try {
      // CreateTask is not retried by the client by itself; the name makes a repetition harmless.
      await client.createTask({ parent, task }, { timeout: CREATE_TIMEOUT_MS });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
}

/** Hashed: task names that begin alike slow the queue down, and user text never becomes a name. */
export function ringName(ref: StepRef, at: number, hop: number, state: string): string {
  return digest(`${paths.step(ref.accountId, ref.runId, ref.key)}@${at}#${hop}${state}`).slice(0, 48);
}

function isAlreadyExists(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const code = 'code' in error ? error.code : undefined;
  // gRPC says 6; the REST transport says 409 or the status in words.
  return code === ALREADY_EXISTS || code === 409 || ('message' in error && String(error.message).includes('ALREADY_EXISTS'));
}
