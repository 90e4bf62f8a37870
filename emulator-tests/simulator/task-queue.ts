import type { CloudTasksDoorbells } from '../../functions/src/timers/doorbells.ts';
import { ringSchema } from '../../functions/src/timers/ring.ts';
import type { Ring } from '../../functions/src/timers/ring.ts';

const TOMBSTONE_MS = 24 * 3_600_000;
const MOST_AHEAD_MS = 30 * 86_400_000;
const ALREADY_EXISTS = 6;
const INVALID_ARGUMENT = 3;

export interface CreateTaskRequest {
  readonly task: {
    readonly name: string;
    readonly scheduleTime: { readonly seconds: number; readonly nanos: number };
    readonly httpRequest: { readonly body: string };
  };
}

/** An error with a gRPC status code, as a client library throws it. */
export class GrpcError extends Error {
  override readonly name = 'GrpcError';
  readonly code: number;

  constructor(message: string, code: number) {
    super(message);
    this.code = code;
  }
}

export function stepOf({ accountId, runId, key }: Ring): string {
  return `accounts/${accountId}/runs/${runId}/steps/${key}`;
}

export interface QueueWorld {
  now(): number;
  /** A task was accepted; when it rings, and how often, is up to the world. */
  accepted(ring: Ring, at: number): void;
  refused(name: string): void;
}

/** Cloud Tasks: a name is taken for a day after its task, and nothing may lie more than 30 days ahead. */
export class TaskQueue {
  readonly #taken = new Map<string, number>();
  /** By step: until when it is rung at the latest. */
  readonly #until = new Map<string, number>();
  readonly #world: QueueWorld;

  constructor(world: QueueWorld) {
    this.#world = world;
  }

  create({ task }: CreateTaskRequest): void {
    const now = this.#world.now();
    const until = this.#taken.get(task.name);
    if (until !== undefined && until > now) {
      this.#world.refused(task.name);
      throw new GrpcError('ALREADY_EXISTS: the name was used before', ALREADY_EXISTS);
    }
    const at = task.scheduleTime.seconds * 1_000 + task.scheduleTime.nanos / 1e6;
    if (at > now + MOST_AHEAD_MS) throw new GrpcError('INVALID_ARGUMENT: more than 30 days ahead', INVALID_ARGUMENT);
    this.#taken.set(task.name, Math.max(at, now) + TOMBSTONE_MS);
    const body = JSON.parse(Buffer.from(task.httpRequest.body, 'base64').toString()) as { readonly data: unknown };
    const ring = ringSchema.parse(body.data);
    const step = stepOf(ring);
    this.#until.set(step, Math.max(this.#until.get(step) ?? 0, at));
    this.#world.accepted(ring, at);
  }

  /** The latest time for which a ring of the step was ever accepted. */
  armedUntil(step: string): number {
    return this.#until.get(step) ?? 0;
  }
}

type Client = Awaited<ReturnType<ConstructorParameters<typeof CloudTasksDoorbells>[0]>>;

/** A client of the queue; each call goes through `call`. */
export function clientOf(call: (request: CreateTaskRequest) => Promise<void>): Client {
  return { queuePath: () => 'queue', createTask: call } as unknown as Client;
}
