import { join } from 'node:path';
import { startChild, type Child } from '../process/child.ts';
import { CACHE, PROJECT_ID, ROOT } from '../root.ts';
import { firestoreJar } from './firestore-jar.ts';
import { freePort } from '../process/ports.ts';
import { mkdirSync, writeFileSync } from 'node:fs';
import { untilReady } from './ready.ts';

/** Pinned in firebase.json; 9496 is the Tasks emulator of firebase-tools, which always comes with the functions. */
export const SUITE_PORTS = { firestore: 8080, firestoreWebsocket: 9150, auth: 9099, functions: 5001, hosting: 5000, tasks: 9496 } as const;

const FIREBASE = join(ROOT, 'node_modules', 'firebase-tools', 'lib', 'bin', 'firebase.js');
const READY = /All emulators ready/;
/** The functions are loaded, the rules compiled and Java is up within half of this on a slow machine. */
const READY_WITHIN_MS = 120_000;
/** firebase-tools tidies up in about two seconds. */
const STOP_WITHIN_MS = 10_000;

export interface Suite {
  readonly child: Child;
  stop(): Promise<void>;
}

/** Without these it leaves a process behind that looks for updates, and asks whether it may count usage. */
const QUIET = { NO_UPDATE_NOTIFIER: '1', FIREBASE_CLI_DISABLE_UPDATE_CHECK: '1' };

function firebase(name: string, args: readonly string[], env: Record<string, string | undefined>, logFile: string, cwd = ROOT): Child {
  return startChild(name, process.execPath, [FIREBASE, ...args], {
    cwd,
    env: { ...QUIET, ...env },
    logFile,
    stopSignal: 'SIGINT',
    graceMs: STOP_WITHIN_MS,
  });
}

/** The emulators of firebase.json through firebase-tools, with `env` handed on to the functions. */
export async function startSuite(env: Record<string, string | undefined>, onLine: (line: string) => void): Promise<Suite> {
  const args = ['emulators:start', '--project', PROJECT_ID, '--only', 'auth,functions,firestore,hosting'];
  const jar = { FIRESTORE_EMULATOR_BINARY_PATH: firestoreJar() };
  const child = firebase('The emulator suite', args, { ...env, ...jar }, join(CACHE, 'logs', 'emulators.log'));
  child.onLine(onLine);
  await untilSaid(child, READY);
  return { child, stop: () => child.stop() };
}

function untilSaid(child: Child, words: RegExp): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      void child.stop();
      reject(new Error(`${child.name} was not ready after ${READY_WITHIN_MS / 1000} s. Its last lines:\n${child.tail()}`));
    }, READY_WITHIN_MS);
    child.onLine((line) => {
      if (!words.test(line)) return;
      clearTimeout(timer);
      resolve();
    });
    void child.exited.then(() => {
      clearTimeout(timer);
      // Somebody stopped it: whoever did ends this process as well, and there is nothing to complain of.
      if (child.isStopping()) return;
      reject(new Error(`${child.name} ended before it was ready. Its last lines:\n${child.tail()}`));
    });
  });
}

export interface AuthEmulator {
  readonly port: number;
  /** `127.0.0.1:port`, ready for FIREBASE_AUTH_EMULATOR_HOST. */
  readonly host: string;
  stop(): Promise<void>;
}

/** The Auth emulator alone, for tests. It lives inside firebase-tools, which reads ports from a file only. */
export async function startAuthEmulator(options: { port?: number; projectId?: string } = {}): Promise<AuthEmulator> {
  const port = options.port ?? (await freePort());
  const [hub, logging] = [await freePort(), await freePort()];
  const folder = join(CACHE, 'auth-emulator', String(port));
  mkdirSync(folder, { recursive: true });
  const host = '127.0.0.1';
  // Left to itself, each takes 4500 for its logging, and of two that start at the same time one dies.
  const emulators = { auth: { host, port }, hub: { host, port: hub }, logging: { host, port: logging }, ui: { enabled: false } };
  writeFileSync(join(folder, 'firebase.json'), JSON.stringify({ emulators }));
  const args = ['emulators:start', '--project', options.projectId ?? PROJECT_ID, '--only', 'auth'];
  const child = firebase('The Auth emulator', args, {}, join(folder, 'auth.log'), folder);
  await untilReady(child, `http://127.0.0.1:${port}/`, READY_WITHIN_MS);
  return { port, host: `${host}:${port}`, stop: () => child.stop() };
}
