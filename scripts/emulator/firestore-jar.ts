import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { CACHE } from '../root.ts';
import { launcherJar } from './launcher-jar.ts';

const SDK_JAR = join('platform', 'cloud-firestore-emulator', 'cloud-firestore-emulator.jar');
const SDK_FOLDERS = ['/usr/lib/google-cloud-sdk', '/usr/share/google-cloud-sdk', '/opt/google-cloud-sdk', '/snap/google-cloud-cli/current'];

export const HOW_TO_GET_IT =
  'The Firestore emulator was not found: run "npx firebase setup:emulators:firestore" once (a download of 64 MB), ' +
  'or "gcloud components install cloud-firestore-emulator", or name its jar in FIRESTORE_EMULATOR_BINARY_PATH.';

/** A jar that `java -jar` can run: named by the user, else downloaded by firebase-tools, else the Google Cloud SDK's. */
export function firestoreJar(): string {
  const named = process.env['FIRESTORE_EMULATOR_BINARY_PATH'];
  if (named !== undefined && named !== '') {
    if (!existsSync(named)) throw new Error(`FIRESTORE_EMULATOR_BINARY_PATH names ${named}, which does not exist.`);
    return named;
  }
  const found = downloadedJar() ?? launcherForSdk();
  if (found === undefined) throw new Error(HOW_TO_GET_IT);
  return found;
}

function downloadedJar(): string | undefined {
  const folder = process.env['FIREBASE_EMULATORS_PATH'] ?? join(homedir(), '.cache', 'firebase', 'emulators');
  if (!existsSync(folder)) return undefined;
  const newest = readdirSync(folder)
    .filter((name) => /^cloud-firestore-emulator-v[\d.]+\.jar$/.test(name))
    .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .at(-1);
  return newest === undefined ? undefined : join(folder, newest);
}

function launcherForSdk(): string | undefined {
  const jar = sdkRoots()
    .map((root) => join(root, SDK_JAR))
    .find((candidate) => existsSync(candidate));
  if (jar === undefined) return undefined;
  const file = join(CACHE, 'firestore-emulator-launcher.jar');
  const content = launcherJar(jar);
  if (!existsSync(file) || !readFileSync(file).equals(content)) {
    mkdirSync(CACHE, { recursive: true });
    writeFileSync(file, content);
  }
  return file;
}

/** Cheap places first; `gcloud info` takes seconds and is asked last. */
function* sdkRootCandidates(): Generator<string> {
  const named = process.env['CLOUDSDK_ROOT_DIR'];
  if (named !== undefined) yield named;
  const gcloud = onPath('gcloud');
  if (gcloud !== undefined) yield dirname(dirname(realpathSync(gcloud)));
  yield* SDK_FOLDERS;
  yield join(homedir(), 'google-cloud-sdk');
  if (gcloud !== undefined) yield askGcloud(gcloud);
}

function sdkRoots(): string[] {
  const roots: string[] = [];
  for (const root of sdkRootCandidates()) {
    roots.push(root);
    if (existsSync(join(root, SDK_JAR))) break;
  }
  return roots;
}

function onPath(name: string): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((file) => existsSync(file));
}

function askGcloud(gcloud: string): string {
  try {
    return execFileSync(gcloud, ['info', '--format=value(installation.sdk_root)'], { encoding: 'utf8', timeout: 20_000 }).trim();
  } catch {
    return '';
  }
}
