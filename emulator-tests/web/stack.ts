/** Firestore and Auth emulators, the demo people and the served app: what a browser needs. */
import { startFirestoreEmulator } from '../../scripts/emulator/firestore.ts';
import { startAuthEmulator } from '../../scripts/emulator/suite.ts';
import { adminAppPackage, firestorePackage, type Firestore } from '../functions-packages.ts';
import type { Documents } from './fixtures.ts';
import { startHosting } from './hosting.ts';
import { createPeople } from './people.ts';

export interface WebStack {
  readonly url: string;
  readonly db: Firestore;
  seed(documents: Documents): Promise<void>;
  stop(): Promise<void>;
}

export interface WebStackOptions {
  /** Running emulators, `host:port`; what is not named is started. */
  readonly firestore?: string;
  readonly auth?: string;
  readonly functions?: string;
  readonly port?: number;
  readonly rules?: string | null;
}

const BATCH = 400;

export async function startWebStack(options: WebStackOptions = {}): Promise<WebStack> {
  const firestore =
    options.firestore === undefined ? await startFirestoreEmulator(options.rules === undefined ? {} : { rules: options.rules }) : undefined;
  const auth = options.auth === undefined ? await startAuthEmulator() : undefined;
  const authHost = options.auth ?? auth?.host ?? '';
  const host = options.firestore ?? firestore?.host ?? '';
  process.env['FIRESTORE_EMULATOR_HOST'] = host;
  await createPeople(authHost);
  const app = adminAppPackage().initializeApp({ projectId: 'demo-kiln' }, `web-${Date.now()}`);
  const db = firestorePackage().getFirestore(app);
  const hosting = await startHosting({ firestore: host, auth: authHost, functions: options.functions ?? '127.0.0.1:5001' }, options.port);
  return {
    url: hosting.url,
    db,
    seed: (documents) => seed(db, documents),
    async stop() {
      await hosting.close();
      await db.terminate();
      await auth?.stop();
      await firestore?.stop();
    },
  };
}

async function seed(db: Firestore, documents: Documents): Promise<void> {
  const entries = [...documents];
  for (let start = 0; start < entries.length; start += BATCH) {
    const batch = db.batch();
    for (const [path, data] of entries.slice(start, start + BATCH)) batch.set(db.doc(path), withoutUndefined(data));
    await batch.commit();
  }
}

function withoutUndefined(data: object): object {
  return JSON.parse(JSON.stringify(data)) as object;
}
