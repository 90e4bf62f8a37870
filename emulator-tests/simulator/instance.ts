import { DatabaseClock, observed } from '../../functions/src/ledger/clock.ts';
import type { Query, Store, Write } from '../../functions/src/ledger/store.ts';
import { KilnError } from '../../functions/src/model/errors.ts';
import { StoredControl } from '../../functions/src/runner/control.ts';
import type { Control, Doorbells, TimeLimit } from '../../functions/src/runner/runtime.ts';
import { CloudTasksDoorbells } from '../../functions/src/timers/doorbells.ts';
import { GatedStore } from './gated-store.ts';
import { clientOf } from './task-queue.ts';
import type { Invocation } from './jobs.ts';
import type { World } from './world.ts';

const QUEUE = { project: 'p', region: 'r', queue: 'doorbell', url: 'http://doorbell' };

/** One running container: its clock is off by a while, and it remembers what it has read until it dies. */
export class Instance {
  readonly id: number;
  readonly clock: DatabaseClock;
  readonly #world: World;
  readonly #stored: StoredControl;
  /** Whose turn it is to read for the instance. */
  #reader: Store | undefined;

  constructor(world: World, id: number, skew: number) {
    this.#world = world;
    this.id = id;
    this.clock = new DatabaseClock(() => world.now + skew);
    const reader = { get: (paths: readonly string[]) => (this.#reader ?? world.backend).get(paths) };
    this.#stored = new StoredControl(reader as Store, () => this.clock.now());
  }

  /** The store as one invocation sees it: it stands still before each operation. */
  store(invocation: Invocation): Store {
    const world = this.#world;
    const gated = new GatedStore(world.backend, {
      park: (what) => world.park(invocation, what.startsWith('commit') || what.startsWith('tx') ? 'commit' : 'read', what),
      settle: (what, fate) => world.settle(invocation, what, fate),
      committed: (writes: readonly Write[]) => {
        world.written(writes.map(({ path }) => path));
        world.watch.committed(invocation, writes);
      },
      conflict: () => world.counters.fault('commit conflict'),
      reads: (paths: readonly string[], query: Query | undefined) => world.watch.reads(invocation, paths, query),
      passes: (query) => world.nothingFound(query),
    });
    return observed(gated, this.clock);
  }

  /** The kill switch as the instance remembers it; the invocation that finds it stale reads it. */
  control(store: Store): Control {
    return {
      halted: () => {
        this.#reader = store;
        return this.#stored.halted();
      },
    };
  }

  /** The real doorbells on a queue that refuses used names, rings early, late, twice or never. */
  doorbells(invocation: Invocation): Doorbells {
    const world = this.#world;
    const client = clientOf(async (request) => {
      const what = `task ${request.task.name.slice(-6)}`;
      const fate = await world.park(invocation, 'task', what);
      world.queue.create(request);
      await world.settle(invocation, what, fate);
    });
    return new CloudTasksDoorbells(
      () => Promise.resolve(client),
      QUEUE,
      () => this.clock.now(),
    );
  }

  limitTime(invocation: Invocation): TimeLimit {
    const world = this.#world;
    return async (ms, work, wanted) => {
      const controller = new AbortController();
      const stopped = Promise.withResolvers<never>();
      stopped.promise.catch(() => undefined);
      const stop = (error: KilnError): void => {
        if (invocation.state !== 'running') return;
        controller.abort(error);
        stopped.reject(error);
      };
      const off = world.schedule(world.now + ms, `#${invocation.id} has had its time`, () =>
        stop(new KilnError('step.timeout', `longer than ${ms} ms`)),
      );
      if (world.random.chance(0.15)) {
        void wanted().then(
          (still) => (still ? undefined : stop(new KilnError('run.cancelled', 'no longer wanted'))),
          () => undefined,
        );
      }
      try {
        return await Promise.race([work(controller.signal), stopped.promise]);
      } finally {
        off();
      }
    };
  }
}
