import { expect, test } from 'vitest';
import { FirestoreStore } from '../../functions/src/ledger/firestore-store.ts';
import { adminAppPackage, firestorePackage } from '../functions-packages.ts';
import { MirrorStore } from './mirror-store.ts';
import { runSeed } from './simulate.ts';

/** `KILN_REPLAYS=200` for the long one. */
const SCHEDULES = Number(process.env['KILN_REPLAYS'] ?? 6);
const FROM = Number(process.env['KILN_REPLAY_SEED'] ?? 1);
const PROJECT = 'demo-replay';

const app = adminAppPackage().initializeApp({ projectId: PROJECT }, 'replay');
const firestore = new FirestoreStore(firestorePackage().getFirestore(app));

async function forget(): Promise<void> {
  const host = process.env['FIRESTORE_EMULATOR_HOST'] ?? '';
  const response = await fetch(`http://${host}/emulator/v1/projects/${PROJECT}/databases/(default)/documents`, { method: 'DELETE' });
  expect(response.ok).toBe(true);
}

test(`${SCHEDULES} schedules are on Firestore what they are in memory, operation by operation`, { timeout: 3_000_000 }, async () => {
  let operations = 0;
  let documents = 0;
  let alike = 0;
  for (let seed = FROM; seed < FROM + SCHEDULES; seed += 1) {
    await forget();
    const alone = await runSeed(seed);
    const mirrors: MirrorStore[] = [];
    const together = await runSeed(seed, {
      backend: (memory) => {
        const mirror = new MirrorStore(memory, firestore);
        mirrors.push(mirror);
        return mirror;
      },
    });
    expect({ seed, failure: together.failure }).toEqual({ seed, failure: undefined });
    // Mostly the very schedule that the simulator plays without Firestore. Where a handler does several things at once, their
    // answers may come in another order, and from there on it is another schedule.
    if (together.hash === alone.hash) alike += 1;
    for (const mirror of mirrors) {
      documents += await mirror.compareAll();
      operations += mirror.operations;
    }
  }
  console.log(
    `${SCHEDULES} schedules from seed ${FROM} on: ${operations} operations and ${documents} documents compared; ${alike} with the trace that they have in memory`,
  );
  expect(operations).toBeGreaterThan(SCHEDULES * 20);
  expect(alike).toBeGreaterThan(SCHEDULES / 2);
});
