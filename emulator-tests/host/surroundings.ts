import { join } from 'node:path';
import { startFirestoreEmulator } from '../../scripts/emulator/firestore.ts';
import { CACHE } from '../../scripts/root.ts';
import type { Services } from '../services/index.ts';
import { startEventRouter } from './event-router.ts';

export interface Surroundings {
  readonly firestoreHost: string;
  readonly routerUrl: string;
  close(): Promise<void>;
}

/** The emulator and router that all test files share, or a pair of the host's own. */
export async function findSurroundings(): Promise<Surroundings> {
  const { FIRESTORE_EMULATOR_HOST: firestoreHost, KILN_EVENT_ROUTER: routerUrl } = process.env;
  if (firestoreHost !== undefined && routerUrl !== undefined) return { firestoreHost, routerUrl, close: () => Promise.resolve() };
  const router = await startEventRouter();
  const emulator = await startFirestoreEmulator({ functionsHost: router.host, logFile: join(CACHE, 'logs', 'firestore-host.log') });
  return {
    firestoreHost: emulator.host,
    routerUrl: router.url,
    close: async () => {
      await emulator.stop();
      await router.close();
    },
  };
}

/** What the functions find in their environment: the emulator, the local services, the moved clock. */
export function functionsEnvironment(projectId: string, firestoreHost: string, services: Services): Record<string, string> {
  return {
    FIRESTORE_EMULATOR_HOST: firestoreHost,
    GCLOUD_PROJECT: projectId,
    GOOGLE_CLOUD_PROJECT: projectId,
    FIREBASE_CONFIG: JSON.stringify({ projectId: projectId }),
    FUNCTIONS_EMULATOR: 'true',
    // Otherwise the Google libraries look for a metadata server first, which takes seconds where there is none.
    METADATA_SERVER_DETECTION: 'none',
    KILN_CLOCK_OFFSET_MS: String(services.tasks.tasks.clock.offset),
    ...services.env,
  };
}
