import { initializeApp } from 'firebase/app';
import { connectAuthEmulator, getAuth, signInWithEmailAndPassword } from 'firebase/auth';
import { connectFirestoreEmulator, getFirestore, setLogLevel } from 'firebase/firestore';
import type { Firestore } from 'firebase/firestore';
import { connectFunctionsEmulator, getFunctions, httpsCallable } from 'firebase/functions';

export interface Target {
  readonly project: string;
  readonly region: string;
  readonly email: string;
  readonly password: string;
  /** Of the project's web app; any text will do for the emulator. */
  readonly apiKey: string;
}

/** A signed-in person's view: everything below goes through the security rules, as from the web app. */
export interface Session {
  readonly db: Firestore;
  readonly uid: string;
  /** Calls one op of the `api` callable. */
  call(op: string, data: object): Promise<unknown>;
}

let sessions = 0;

export async function connect(target: Target): Promise<Session> {
  // Closing a stream is logged as an error otherwise.
  setLogLevel('silent');
  const emulated = target.project.startsWith('demo-');
  const app = initializeApp(
    { projectId: target.project, apiKey: target.apiKey, authDomain: `${target.project}.firebaseapp.com` },
    `session-${(sessions += 1)}`,
  );
  const auth = getAuth(app);
  const db = getFirestore(app);
  const functions = getFunctions(app, target.region);
  if (emulated) {
    connectAuthEmulator(auth, `http://${process.env['FIREBASE_AUTH_EMULATOR_HOST'] ?? '127.0.0.1:9099'}`, { disableWarnings: true });
    const [host = '127.0.0.1', port = '8080'] = (process.env['FIRESTORE_EMULATOR_HOST'] ?? '127.0.0.1:8080').split(':');
    connectFirestoreEmulator(db, host, Number(port));
    connectFunctionsEmulator(functions, '127.0.0.1', 5001);
  }
  const { user } = await signInWithEmailAndPassword(auth, target.email, target.password);
  const api = httpsCallable<object>(functions, 'api');
  return { db, uid: user.uid, call: async (op, data) => (await api({ op, ...data })).data };
}
