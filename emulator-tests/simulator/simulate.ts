import { WorkflowRegistry } from '../../functions/src/durable/define-workflow.ts';
import { indexDefinition } from '../../functions/src/engine/definition-index.ts';
import { canonicalJson } from '../../functions/src/engine/json.ts';
import type { Json } from '../../functions/src/engine/json.ts';
import { workflowOf } from './code-workflows.ts';
import { createDoors, KnownWorkflows } from './doors.ts';
import type { Counters, FaultRates } from './faults.ts';
import { comparable, Oracle } from './oracle.ts';
import { People } from './people.ts';
import { SeededRandom } from './random.ts';
import { drawScenario } from './scenario.ts';
import type { Scenario } from './scenario.ts';
import { Outside } from './services.ts';
import type { WorldOptions } from './jobs.ts';
import { leftovers, Standing, wakerProblems } from './standing.ts';
import { Violation } from './violation.ts';
import type { Invariant } from './violation.ts';
import { Watch } from './watch.ts';
import { World } from './world.ts';

export interface SimulateOptions extends WorldOptions {
  /** Instead of the one that the seed draws. */
  readonly scenario?: Scenario;
}

export interface Result {
  readonly seed: number;
  readonly hash: string;
  readonly counters: Counters;
  readonly operations: number;
  readonly deliveries: number;
  readonly faults: FaultRates;
  readonly scenario: Scenario;
  readonly trace: readonly string[];
  readonly failure: { readonly invariant: Invariant | 'unexpected error'; readonly message: string } | undefined;
}

/** In punctual scenarios the reconciler comes so late that what it still finds was missed by its doorbell. */
const LAG_MS = 5 * 60_000;
const punctualFaults: Partial<FaultRates> = { drop: 0, lostRing: 0, longDelay: 0, stall: 0, extraTick: 0 };

const CHAOS_OPERATIONS = 3_000;
/** Deliveries that a schedule may still take once the faults are over. */
const LIVENESS_DELIVERIES = 3_000;
const LIVENESS_STEPS = 200_000;

/** One schedule: the same seed is the same schedule, down to the last operation. */
export async function runSeed(seed: number, options: SimulateOptions = {}): Promise<Result> {
  const random = new SeededRandom(seed * 2 + 1);
  // Drawn in any case: a scenario that is given takes its place, and what chance decides after it stays the same.
  const drawn = drawScenario(random);
  const scenario = options.scenario ?? drawn;
  const known = knownWorkflows(scenario, () => outside);
  const world: World = new World(seed, createDoors({ world: () => world, outside: () => outside, known }), {
    ...options,
    reconcilerLagMs: scenario.punctual ? LAG_MS : 0,
    faults: { ...options.faults, ...(scenario.punctual ? punctualFaults : {}) },
  });
  const outside = new Outside(world, scenario.deterministic);
  const watch = new Watch(world, scenario.punctual);
  const people = new People(world, scenario);
  world.watch = {
    committed: (invocation, writes) => watch.committed(invocation, writes),
    reads: (invocation, paths, query) => watch.reads(invocation, paths, query),
    created: (snapshot) => {
      watch.created(snapshot);
      people.created(snapshot);
    },
    heard: (step) => watch.heard(step),
    quiet: () => report(world, wakerProblems(new Standing(world.store))),
  };
  for (const account of scenario.accounts) people.settleIn(account);
  for (const wish of scenario.wishes) people.start(wish, random.chance(0.5));
  if (scenario.halts) people.halt();
  const { faults } = world;
  await play(world, people, outside, scenario.wishes.length);
  if (scenario.deterministic && world.failure === undefined) compareWithOracle(world, scenario);
  const { failure } = world;
  return {
    seed,
    hash: world.hash,
    counters: world.counters,
    operations: world.operations,
    deliveries: world.deliveries,
    faults,
    scenario,
    trace: world.trace,
    failure:
      failure === undefined
        ? undefined
        : { invariant: failure instanceof Violation ? failure.invariant : 'unexpected error', message: failure.message },
  };
}

function knownWorkflows(scenario: Scenario, outside: () => Outside): KnownWorkflows {
  const call: Parameters<typeof workflowOf>[1] = (system, input, context) => outside().callFromCode(system, input, context);
  const registry = new WorkflowRegistry(scenario.programs.map((program) => workflowOf(program, call, scenario.onError)));
  const known = new KnownWorkflows(registry);
  for (const account of scenario.accounts) for (const definition of scenario.definitions) known.add(account, indexDefinition(definition));
  return known;
}

/** First the storm, then the calm, in which everything has to come to its end. */
async function play(world: World, people: People, outside: Outside, wishes: number): Promise<void> {
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
  // A retry of a failed run begins another one, which says where it comes from.
  const begun = new Standing(world.store).runs().filter((run) => run.startedBy.kind === 'user' && run.forkedFrom === undefined).length;
  if (begun > wishes) world.fail(new Violation('a request starts one run', `${wishes} runs were asked for, ${begun} began`));
}

/** Whatever went wrong on the way, the runs came to what they would have come to without. */
function compareWithOracle(world: World, scenario: Scenario): void {
  const oracle = new Oracle(scenario.definitions, scenario.programs);
  for (const run of new Standing(world.store).runs()) {
    // A child may be called off by its parent; what it came to otherwise shows in the parent's outcome.
    if (run.parent !== undefined) continue;
    const expected = oracle.run(run.workflowId, JSON.parse(run.input.json ?? 'null') as Json);
    const found =
      run.status === 'completed'
        ? { ok: true, value: comparable(JSON.parse(run.output?.json ?? 'null') as Json) }
        : { ok: false, code: run.error?.code };
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
