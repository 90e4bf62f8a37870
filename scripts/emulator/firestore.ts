import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { startChild, type Child } from '../process/child.ts';
import { freePort } from '../process/ports.ts';
import { ROOT, PROJECT_ID } from '../root.ts';
import { firestoreJar } from './firestore-jar.ts';
import { untilReady } from './ready.ts';

export interface FirestoreEmulatorOptions {
  /** Default: a free one. */
  port?: number;
  /** `host:port` that receives document triggers, as the Functions emulator does. */
  functionsHost?: string;
  /** A rules file. Default: `firestore.rules` of this project; `null` for open access. */
  rules?: string | null;
  projectId?: string;
  logFile?: string;
}

export interface FirestoreEmulator {
  readonly port: number;
  /** `127.0.0.1:port`, ready for FIRESTORE_EMULATOR_HOST. */
  readonly host: string;
  readonly projectId: string;
  readonly child: Child;
  stop(): Promise<void>;
}

/** Fewer compiler threads and the serial collector start faster and leave the second core to the tests. */
const JVM = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xmx1g', '-Duser.language=en'];

/** Starts the emulator without firebase-tools, which takes about two seconds instead of ten. */
export async function startFirestoreEmulator(options: FirestoreEmulatorOptions = {}): Promise<FirestoreEmulator> {
  const port = options.port ?? (await freePort());
  const projectId = options.projectId ?? PROJECT_ID;
  const rules = options.rules === undefined ? join(ROOT, 'firestore.rules') : options.rules;
  if (rules !== null && !existsSync(rules)) throw new Error(`The rules file ${rules} does not exist.`);
  const args = [...JVM, '-jar', firestoreJar(), '--host', '127.0.0.1', '--port', String(port), '--project_id', projectId];
  if (rules !== null) args.push('--rules', rules);
  if (options.functionsHost !== undefined) args.push(`--functions_emulator=${options.functionsHost}`);
  const child = startChild('Firestore emulator', 'java', args, options.logFile === undefined ? {} : { logFile: options.logFile });
  await untilReady(child, `http://127.0.0.1:${port}/`);
  return { port, host: `127.0.0.1:${port}`, projectId, child, stop: () => child.stop('SIGKILL') };
}
