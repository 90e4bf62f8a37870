import { afterAll, beforeAll, expect, test } from 'vitest';
import { canonicalJson } from '../functions/src/engine/json.ts';
import type { Json } from '../functions/src/engine/json.ts';
import { eventRecord } from '../functions/src/ledger/events.ts';
import { storePayload } from '../functions/src/ledger/payloads.ts';
import type { Definition } from '../functions/src/model/definition.ts';
import { ANY_KEY } from '../functions/src/model/event.ts';
import { paths } from '../functions/src/model/paths.ts';
import { terminalRunStatuses } from '../functions/src/model/run.ts';
import type { RunStatus } from '../functions/src/model/run.ts';
import { isLive } from '../functions/src/model/step.ts';
import { ACCOUNT, Installation } from './installation.ts';
import { generateDefinition } from './simulator/generate.ts';
import { comparable, Oracle } from './simulator/oracle.ts';
import { SeededRandom } from './simulator/random.ts';

/** `KILN_FAULT_RUNS=500` for the long one, with `KILN_FAULT_SEED` for others. */
const RUNS = Number(process.env['KILN_FAULT_RUNS'] ?? 40);
const SEED = Number(process.env['KILN_FAULT_SEED'] ?? 1);
const WORKFLOWS = 12;
const BATCH = 20;
const ROUNDS = 200;
const DAY = 86_400_000;

let kiln: Installation;
const random = new SeededRandom(SEED);
/** Workflows whose outcome no race decides, so that an oracle can say what each run comes to. */
const definitions: Definition[] = [];

beforeAll(async () => {
  kiln = await Installation.start({ name: `fault-runs-${SEED}`, worker: true, seed: String(SEED) });
  await kiln.members({ ann: ['approver'], bob: ['approver'], cid: ['approver'] });
  kiln.target.answer = ({ body }) => ({ body: { did: body } });
  const options = { deterministic: true, children: [] as string[], small: true };
  definitions.push(generateDefinition('child', random, options));
  for (let i = 0; i < WORKFLOWS; i += 1)
    definitions.push(generateDefinition(`wf${i}`, random, { deterministic: true, children: ['child'], small: false }));
  for (const definition of definitions) await kiln.publish(definition.id, withSteeredActions(definition));
});

afterAll(async () => {
  await kiln.close();
});

/** The generated workflows call the simulator's action; here it is one that reaches the target over HTTP. */
function withSteeredActions(definition: Definition): object {
  return JSON.parse(JSON.stringify(definition).replaceAll('"keyed"', '"test.call"')) as object;
}

interface Started {
  readonly runId: string;
  readonly workflowId: string;
  readonly input: Json;
}

async function startBatch(count: number): Promise<Started[]> {
  const started: Started[] = [];
  for (let i = 0; i < count; i += 1) {
    const workflowId = `wf${random.int(WORKFLOWS)}`;
    const items = Array.from({ length: random.int(4) }, (_, n) => n * 10);
    const input = { n: random.int(6), text: random.pick(['x', 'y']), items };
    started.push({ runId: await kiln.start(workflowId, input), workflowId, input });
  }
  return started;
}

/** Everybody who is asked agrees, and every event that is waited for comes. */
async function actOutside(round: number): Promise<void> {
  const firestore = kiln.host.firestore();
  const approvals = await firestore.collection(paths.approvals(ACCOUNT)).where('status', '==', 'pending').get();
  for (const doc of approvals.docs) {
    const decided = new Set((await doc.ref.collection('decisions').get()).docs.map(({ id }) => id));
    const next = ['ann', 'bob', 'cid'].find((uid) => !decided.has(uid));
    if (next !== undefined) await kiln.decide({ approvalId: doc.id, digest: String(doc.get('digest')) }, next, 'approve');
  }
  const waits = await firestore.collection(paths.waits(ACCOUNT)).where('state', '==', 'open').get();
  for (const doc of waits.docs) {
    const eventId = `${doc.id}-${round}`;
    const key = String(doc.get('key'));
    const { payload } = storePayload({ accountId: ACCOUNT, runId: eventId }, 'p', '{"ok":true}');
    const event = { eventId, name: String(doc.get('name')), payload: { ok: true }, source: 'test', ...(key === ANY_KEY ? {} : { key }) };
    await kiln.store.commit([
      { op: 'create', path: paths.event(ACCOUNT, eventId), data: eventRecord(ACCOUNT, event, payload, kiln.clock.now()) },
    ]);
  }
}

async function statusOf(runs: readonly Started[]): Promise<Map<string, RunStatus>> {
  const found = new Map<string, RunStatus>();
  for (const { runId } of runs) found.set(runId, (await kiln.run(runId)).status);
  return found;
}

async function untilAllEnded(runs: readonly Started[]): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    await kiln.host.idle();
    const statuses = await statusOf(runs);
    if ([...statuses.values()].every((status) => terminalRunStatuses.has(status))) return;
    await actOutside(round);
    await kiln.host.advance(round % 3 === 2 ? 10 * DAY : 60_000);
    await kiln.host.reconcile();
  }
  throw new Error(`still going after ${ROUNDS} rounds: ${JSON.stringify([...(await statusOf(runs))])}`);
}

test(
  `${RUNS} mixed runs end as they should, with 20 % of the events doubled, 10 % dropped, others reordered, and 5 % of the deliveries killed`,
  { timeout: Math.max(600_000, RUNS * 60_000) },
  async () => {
    kiln.host.setFaults({
      duplicate: 0.2,
      drop: 0.1,
      reorder: 0.15,
      delay: 0.1,
      lose: 0.02,
      loseAnswer: 0.05,
      withoutData: 0.03,
      kill: 0.05,
    });
    const oracle = new Oracle(definitions, []);
    const wrong: string[] = [];
    for (let done = 0; done < RUNS; done += BATCH) {
      const batch = await startBatch(Math.min(BATCH, RUNS - done));
      await untilAllEnded(batch);
      for (const { runId, workflowId, input } of batch) {
        const run = await kiln.run(runId);
        const expected = oracle.run(workflowId, input);
        const output = await kiln.output(runId);
        const found = run.status === 'completed' ? { ok: true, value: comparable(output ?? null) } : { ok: false, code: run.error?.code };
        const wanted = expected.ok ? { ok: true, value: comparable(expected.value) } : expected;
        if (canonicalJson(found) !== canonicalJson(wanted))
          wrong.push(`${runId}: ${canonicalJson(found)} instead of ${canonicalJson(wanted)}`);
        for (const [key, step] of await kiln.steps(runId))
          if (isLive(step.state)) wrong.push(`${runId} has ended, ${key} is ${step.state}`);
        if (run.pendingApprovals !== 0) wrong.push(`${runId} counts ${run.pendingApprovals} open approvals`);
      }
    }
    expect(wrong).toEqual([]);
    // One key is one effect: whatever was repeated said the same.
    const bodies = new Map<string, string>();
    for (const { key, body } of kiln.target.calls) {
      expect(bodies.get(key) ?? canonicalJson(body)).toBe(canonicalJson(body));
      bodies.set(key, canonicalJson(body));
    }
    const { counters } = kiln.host;
    console.log(`deliveries: ${JSON.stringify(counters)}; calls of the target: ${kiln.target.calls.length} for ${bodies.size} effects`);
    expect(counters.duplicated).toBeGreaterThan(0);
    expect(counters.dropped).toBeGreaterThan(0);
    expect(counters.kills).toBeGreaterThan(0);
  },
);
