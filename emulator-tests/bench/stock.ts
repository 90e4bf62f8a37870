import { codeWorkflows } from '../../functions/src/durable/index.ts';
import { publishWorkflow } from '../../functions/src/ledger/definitions.ts';
import { FirestoreStore } from '../../functions/src/ledger/firestore-store.ts';
import { newRunWrites } from '../../functions/src/ledger/new-run.ts';
import { createStepRegistry } from '../../functions/src/steps/index.ts';
import { startLocal } from '../../scripts/local.ts';
import { SUITE_PORTS } from '../../scripts/emulator/suite.ts';
import { PROJECT_ID } from '../../scripts/root.ts';
import { firestorePackage } from '../functions-packages.ts';
import { ACCOUNT } from '../installation.ts';
import { kilnRun, kilnRuns, median, quantiles, rateOf, stepTimes } from './measure.ts';
import type { Place } from './measure.ts';
import { CHAIN, fixed, list, ROUNDS, transform } from './parts.ts';
import type { PartResult } from './parts.ts';

const WORKFLOW = 'bench-chain';
const AT_ONCE = [1, 50, 500];

/** The same chain on the emulator suite as it comes, which delivers one event at a time. */
export async function stock(): Promise<PartResult> {
  const local = await startLocal();
  const { Firestore } = firestorePackage();
  const db = new Firestore({ projectId: PROJECT_ID, host: `127.0.0.1:${SUITE_PORTS.firestore}`, ssl: false });
  try {
    const store = new FirestoreStore(db);
    const publisher = { store, types: createStepRegistry(), code: codeWorkflows(), now: Date.now };
    const definition = { id: WORKFLOW, steps: list(CHAIN, transform) };
    const { version, hash } = await publishWorkflow(publisher, { accountId: ACCOUNT, definition, publishedBy: 'bench' });
    let runs = 0;
    const place: Place = {
      db,
      start: async () => {
        const runId = `bench-${Date.now()}-${(runs += 1)}`;
        const pinned = { kind: 'graph', version, hash } as const;
        const startedBy = { kind: 'user', id: 'bench' } as const;
        const run = { accountId: ACCOUNT, runId, workflowId: WORKFLOW, pinned, input: '{}', startedBy, now: Date.now() };
        await store.commit(newRunWrites(run));
        return runId;
      },
    };
    const [steps, first]: [number[], number[]] = [[], []];
    for (let round = -2; round < ROUNDS; round += 1) {
      const { runId } = await kilnRun(place, WORKFLOW);
      const times = await stepTimes(place, runId);
      if (round < 0) continue;
      steps.push(...times.gaps);
      first.push(times.first);
    }
    const rates: string[] = [];
    for (const runsAtOnce of AT_ONCE) rates.push(fixed(rateOf(await kilnRuns(place, WORKFLOW, runsAtOnce), CHAIN), 0));
    return {
      title: `The stock emulator suite, which delivers one event at a time: runs of ${CHAIN} bookkeeping steps; figures of this machine`,
      rows: [
        [
          'ms a step, p50 / p90 / p99',
          'ms to the first step',
          ...AT_ONCE.map((n) => `steps/s of ${n === 1 ? 'one run' : `${n} runs at once`}`),
        ],
        [quantiles(steps), fixed(median(first), 0), ...rates],
      ],
      figures: { 'stock.msPerStep': median(steps) },
    };
  } finally {
    await db.terminate();
    await local.close();
  }
}
