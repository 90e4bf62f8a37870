import { indexDefinition } from '../../functions/src/engine/definition-index.ts';
import { canonicalJson } from '../../functions/src/engine/json.ts';
import type { Json } from '../../functions/src/engine/json.ts';
import type { CodePlanner } from '../../functions/src/runner/code-planner.ts';
import type { Definition } from '../../functions/src/model/definition.ts';
import { createDoors, KnownDefinitions } from './doors.ts';
import type { Office } from './doors.ts';
import type { Counters, FaultRates } from './faults.ts';
import { generateDefinition } from './generate.ts';
import { comparable, Oracle } from './oracle.ts';
import { People } from './people.ts';
import type { Wish } from './people.ts';
import { SeededRandom } from './random.ts';
import { Outside } from './services.ts';
import { leftovers, Standing, wakerProblems } from './standing.ts';
import { Violation } from './violation.ts';
import type { Invariant } from './violation.ts';
import { Watch } from './watch.ts';
import { World } from './world.ts';

export interface SimulateOptions {
  readonly tracing?: boolean;
  readonly faults?: Partial<FaultRates>;
}

export interface Result {
  readonly seed: number;
  readonly hash: string;
  readonly counters: Counters;
  readonly operations: number;
  readonly deliveries: number;
  readonly faults: FaultRates;
  readonly definitions: readonly Definition[];
  readonly trace: readonly string[];
  readonly failure: { readonly invariant: Invariant | 'unexpected error'; readonly message: string } | undefined;
}

const CHAOS_OPERATIONS = 3_000;
/** Deliveries that a run may still take once the faults are over. */
const LIVENESS_DELIVERIES = 3_000;
const LIVENESS_STEPS = 200_000;

const noCode = new Proxy({}, { get: () => () => Promise.reject(new Error('no code workflows here')) }) as CodePlanner;

/** One schedule: the same seed is the same schedule, down to the last operation. */
export async function runSeed(seed: number, options: SimulateOptions = {}): Promise<Result> {
  const random = new SeededRandom(seed * 2 + 1);
  const deterministic = random.chance(0.35);
  const definitions = drawDefinitions(random, deterministic);
  const known = new KnownDefinitions();
  const accounts = random.chance(0.4) ? ['acme', 'beta'] : ['acme'];
  for (const account of accounts) for (const definition of definitions) known.add(account, indexDefinition(definition));
  const office: Office = { world: () => world, outside: () => outside, definitions: known, code: noCode };
  const world: World = new World(seed, createDoors(office), options);
  const outside = new Outside(world, deterministic);
  const watch = new Watch(world);
  const people = new People(world, definitions, deterministic);
  world.watch = {
    committed: (invocation, writes) => watch.committed(invocation, writes),
    reads: (invocation, paths, query) => watch.reads(invocation, paths, query),
    created: (snapshot) => {
      watch.created(snapshot);
      people.created(snapshot);
    },
    quiet: () => report(world, wakerProblems(new Standing(world.store))),
  };
  for (const account of accounts) people.settleIn(account);
  const wishes = drawWishes(random, accounts, definitions);
  for (const wish of wishes) people.start(wish, random.chance(0.5));
  if (random.chance(0.1)) people.halt();
  await play(world, people, outside);
  if (deterministic && world.failure === undefined) compareWithOracle(world, definitions);
  const { failure } = world;
  return {
    seed,
    hash: world.hash,
    counters: world.counters,
    operations: world.operations,
    deliveries: world.deliveries,
    faults: world.faults,
    definitions,
    trace: world.trace,
    failure: failure === undefined ? undefined : { invariant: failure instanceof Violation ? failure.invariant : 'unexpected error', message: failure.message },
  };
}

/** Whatever went wrong on the way, the runs came to what they would have come to without. */
function compareWithOracle(world: World, definitions: readonly Definition[]): void {
  const oracle = new Oracle(definitions);
  for (const run of new Standing(world.store).runs()) {
    const expected = oracle.run(run.workflowId, JSON.parse(run.input.json ?? 'null') as Json);
    const found = run.status === 'completed' ? { ok: true, value: comparable(JSON.parse(run.output?.json ?? 'null') as Json) } : { ok: false, code: run.error?.code };
    const wanted = expected.ok ? { ok: true, value: comparable(expected.value) } : expected;
    if (canonicalJson(found) === canonicalJson(wanted)) continue;
    const text = `${run.accountId}/${run.runId} (${run.workflowId}) came to ${canonicalJson(found)} instead of ${canonicalJson(wanted)}`;
    world.fail(new Violation('the outcome is what the oracle says', text));
  }
}

function report(world: World, problems: readonly Violation[]): void {
  const [first] = problems;
  if (first !== undefined) world.fail(first);
}

function drawDefinitions(random: SeededRandom, deterministic: boolean): readonly Definition[] {
  const child = generateDefinition('child', random, { deterministic, children: [], small: true });
  const main = generateDefinition('main', random, { deterministic, children: ['child'], small: false });
  return random.chance(0.3) ? [main, child, generateDefinition('other', random, { deterministic, children: ['child'], small: true })] : [main, child];
}

function drawWishes(random: SeededRandom, accounts: readonly string[], definitions: readonly Definition[]): readonly Wish[] {
  const startable = definitions.filter(({ id }) => id !== 'child').map(({ id }) => id);
  return accounts.flatMap((accountId) =>
    Array.from({ length: 1 + random.int(2) }, (_, i): Wish => ({
      accountId,
      workflowId: random.pick(startable),
      // The same ids in every account.
      runId: `run${i}`,
      input: { n: random.int(6), text: random.pick(['x', 'y']), items: Array.from({ length: random.int(5) }, (_v, n) => n * 10) },
    })),
  );
}

/** First the storm, then the calm, in which everything has to come to its end. */
async function play(world: World, people: People, outside: Outside): Promise<void> {
  while (world.failure === undefined && world.operations < CHAOS_OPERATIONS && (await world.step()));
  world.calm();
  const from = world.deliveries;
  for (let steps = 0; world.failure === undefined; steps += 1) {
    if (world.deliveries - from > LIVENESS_DELIVERIES || steps > LIVENESS_STEPS) {
      world.fail(new Violation('everything ends', `no end after ${world.deliveries - from} deliveries without faults`));
      return;
    }
    if (await world.step()) continue;
    if (!people.lookAfter(new Standing(world.store))) break;
  }
  if (world.failure === undefined) report(world, leftovers(new Standing(world.store), outside));
}
