import type { TestProject } from 'vitest/node';
import { join } from 'node:path';
import { startFirestoreEmulator } from '../scripts/emulator/firestore.ts';
import { stopChildrenOnSignal } from '../scripts/process/child.ts';
import { CACHE } from '../scripts/root.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** `host:port` of the Firestore emulator that all emulator tests share. */
    firestoreHost: string;
  }
}

/** One Firestore emulator for all files: tests stay apart by using an account id or a project id of their own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  stopChildrenOnSignal();
  const emulator = await startFirestoreEmulator({ logFile: join(CACHE, 'logs', 'firestore-tests.log') });
  project.provide('firestoreHost', emulator.host);
  return () => emulator.stop();
}
