import type { TestProject } from 'vitest/node';
import { join } from 'node:path';
import { startFirestoreEmulator } from '../scripts/emulator/firestore.ts';
import { stopChildrenOnSignal } from '../scripts/process/child.ts';
import { CACHE } from '../scripts/root.ts';
import { startEventRouter } from './host/event-router.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** `host:port` of the Firestore emulator that all emulator tests share. */
    firestoreHost: string;
    /** Passes each project's document events on to the fault host that asked for them. */
    eventRouterUrl: string;
  }
}

/** One Firestore emulator for all files: tests stay apart by using an account id or a project id of their own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  stopChildrenOnSignal();
  const router = await startEventRouter();
  const emulator = await startFirestoreEmulator({ functionsHost: router.host, logFile: join(CACHE, 'logs', 'firestore-tests.log') });
  project.provide('firestoreHost', emulator.host);
  project.provide('eventRouterUrl', router.url);
  return async () => {
    await emulator.stop();
    await router.close();
  };
}
