/** The demo people, the served app and a browser's way to the emulators. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startAuthEmulator } from '../../scripts/emulator/suite.ts';
import { ROOT } from '../../scripts/root.ts';
import { adminAppPackage, firestorePackage, type Firestore } from '../functions-packages.ts';
import { ask } from './ask.ts';
import { buildWeb } from './build.ts';
import type { Documents } from './fixtures.ts';
import { startHosting } from './hosting.ts';
import { createPeople } from './people.ts';

export interface WebStackOptions {
  /** One of its own for each file: files share the Firestore emulator. */
  readonly projectId: string;
  /** `host:port` of the Firestore emulator. */
  readonly firestore: string;
  /** A running Auth emulator of the same project; without one, it is started. */
  readonly auth?: string;
  /** Where the callable functions answer; without functions, nowhere. */
  readonly functions?: string;
  readonly port?: number;
}

export interface WebStack {
  readonly url: string;
  readonly db: Firestore;
  seed(documents: Documents): Promise<void>;
  stop(): Promise<void>;
}

const BATCH = 400;
const AT_ONCE = 4;
const NOWHERE = '127.0.0.1:9';

export async function startWebStack({ projectId, firestore, auth, functions = NOWHERE, port }: WebStackOptions): Promise<WebStack> {
  const running = auth ?? process.env['KILN_TEST_AUTH_EMULATOR'];
  const [started] = await Promise.all([running === undefined ? startAuthEmulator({ projectId }) : undefined, buildWeb()]);
  const authHost = running ?? started?.host ?? '';
  await createPeople(authHost, projectId);
  await loadRules(firestore, projectId);
  process.env['FIRESTORE_EMULATOR_HOST'] = firestore;
  const app = adminAppPackage().initializeApp({ projectId }, `web-${projectId}`);
  const db = firestorePackage().getFirestore(app);
  const hosting = await startHosting({ projectId, emulators: { firestore, auth: authHost, functions } }, port);
  return {
    url: hosting.url,
    db,
    seed: (documents) => seed(db, documents),
    async stop() {
      await hosting.close();
      await db.terminate();
      await started?.stop();
    },
  };
}

/** The emulator knows the rules of the project that it was started for; another project gets them here. */
async function loadRules(firestore: string, projectId: string): Promise<void> {
  const content = readFileSync(join(ROOT, 'firestore.rules'), 'utf8');
  const answer = await ask(`http://${firestore}/emulator/v1/projects/${projectId}:securityRules`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ rules: { files: [{ name: 'firestore.rules', content }] } }),
  });
  if (!answer.ok) throw new Error(`the Firestore emulator refused the rules: ${await answer.text()}`);
}

async function seed(db: Firestore, documents: Documents): Promise<void> {
  const entries = [...documents];
  const pages = Array.from({ length: Math.ceil(entries.length / BATCH) }, (_, n) => entries.slice(n * BATCH, (n + 1) * BATCH));
  const work = async (): Promise<void> => {
    for (let page = pages.pop(); page !== undefined; page = pages.pop()) {
      const batch = db.batch();
      for (const [path, data] of page) batch.set(db.doc(path), withoutUndefined(data));
      await batch.commit();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

function withoutUndefined(data: object): object {
  return JSON.parse(JSON.stringify(data)) as object;
}
