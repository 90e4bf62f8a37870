import { initializeApp, type FirebaseApp } from 'firebase/app';
import { browserLocalPersistence, connectAuthEmulator, indexedDBLocalPersistence, initializeAuth, type Auth } from 'firebase/auth';
import {
  connectFirestoreEmulator,
  initializeFirestore,
  memoryLocalCache,
  persistentLocalCache,
  persistentMultipleTabManager,
  type Firestore,
} from 'firebase/firestore';
import type { Environment } from './config.ts';

export interface Services {
  readonly environment: Environment;
  readonly app: FirebaseApp;
  readonly auth: Auth;
  readonly db: Firestore;
}

let connected: Services | undefined;

/** Connects once; the pages reach the services through `services()`. */
export function connect(environment: Environment): Services {
  const app = initializeApp(environment.firebase);
  // The pop-up code for Google is handed in when it is wanted: it loads a script from Google.
  const auth = initializeAuth(app, { persistence: [indexedDBLocalPersistence, browserLocalPersistence] });
  const db = initializeFirestore(app, {
    localCache: canPersist() ? persistentLocalCache({ tabManager: persistentMultipleTabManager() }) : memoryLocalCache(),
    ignoreUndefinedProperties: true,
  });
  const { emulators } = environment;
  if (emulators !== undefined) {
    connectAuthEmulator(auth, `http://${emulators.auth.host}:${emulators.auth.port}`, { disableWarnings: true });
    connectFirestoreEmulator(db, emulators.firestore.host, emulators.firestore.port);
  }
  connected = { environment, app, auth, db };
  return connected;
}

export function services(): Services {
  if (connected === undefined) throw new Error('the services are used before they are connected');
  return connected;
}

/** Private windows of some browsers have no IndexedDB. */
function canPersist(): boolean {
  return typeof indexedDB === 'object' && indexedDB !== null;
}
