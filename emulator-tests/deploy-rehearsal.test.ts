import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asArray, asObject, parseJson } from './services/json-fields.ts';
import type { JsonObject } from './services/json-fields.ts';
import { ROOT } from '../scripts/root.ts';

const run = promisify(execFile);
/** Deploy-time discovery gives up after 10 s; this leaves room for slow build machines. CPU time, so that a busy machine changes nothing. */
const LOAD_CPU_MS = 2_000;

/** What is uploaded: the folder `functions` without what firebase.json leaves out, beside the packages of its own lockfile. */
let upload = '';
let folder = '';

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kiln-deploy-'));
  const build = join(folder, 'build');
  mkdirSync(build);
  cpSync(join(ROOT, 'tsconfig.json'), join(build, 'tsconfig.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(build, 'node_modules'));
  mkdirSync(join(build, 'functions'));
  for (const name of ['src', 'tsconfig.json', 'package.json'])
    cpSync(join(ROOT, 'functions', name), join(build, 'functions', name), { recursive: true });
  symlinkSync(join(ROOT, 'functions', 'node_modules'), join(build, 'functions', 'node_modules'));
  // Types are checked by a stage of their own; this is about what comes out.
  await run(process.execPath, [join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', 'tsconfig.json', '--noCheck'], {
    cwd: join(build, 'functions'),
  });

  upload = join(folder, 'upload');
  mkdirSync(upload);
  cpSync(join(build, 'functions', 'lib'), join(upload, 'lib'), { recursive: true });
  cpSync(join(ROOT, 'functions', 'package.json'), join(upload, 'package.json'));
  symlinkSync(join(ROOT, 'functions', 'node_modules'), join(upload, 'node_modules'));
  writeFileSync(join(upload, 'discover.mjs'), DISCOVER);
}, 240_000);

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** As deploying does it: a process that imports the entry point and reads what each export says of itself. */
const DISCOVER = `
import { readFileSync } from 'node:fs';
const before = process.cpuUsage();
const exported = await import('./' + JSON.parse(readFileSync(new URL('./package.json', import.meta.url), 'utf8')).main);
const { user, system } = process.cpuUsage(before);
const endpoints = Object.fromEntries(Object.entries(exported).flatMap(([name, one]) => (one?.__endpoint === undefined ? [] : [[name, one.__endpoint]])));
console.log(JSON.stringify({ cpuMs: (user + system) / 1000, endpoints }));
process.exit(0);
`;

interface Discovered {
  readonly cpuMs: number;
  readonly endpoints: Readonly<Record<string, JsonObject>>;
}

async function discover(env: Record<string, string> = {}): Promise<Discovered> {
  const bare = { PATH: process.env['PATH'] ?? '', GCLOUD_PROJECT: 'acme-kiln', FIREBASE_CONFIG: '{"projectId":"acme-kiln"}' };
  // Links are kept, so that a package finds only what functions/package-lock.json brings, and nothing of the root's.
  const options = ['--preserve-symlinks', '--preserve-symlinks-main', 'discover.mjs'];
  const { stdout } = await run(process.execPath, options, { cwd: upload, env: { ...bare, ...env } });
  return parseJson(stdout.trim().split('\n').at(-1) ?? '') as Discovered;
}

const eventTriggerOf = (endpoint: JsonObject): JsonObject | undefined => asObject(endpoint['eventTrigger']);

describe('a deployment, as far as it goes without a network', () => {
  let found: Discovered;
  beforeAll(async () => {
    found = await discover();
  }, 60_000);

  test('the entry point loads within the time of discovery, with no client opened', () => {
    expect(found.cpuMs).toBeLessThan(LOAD_CPU_MS);
  });

  test('at most 12 functions, and those that the doctor looks for', async () => {
    const { FUNCTIONS } = await import('../scripts/kiln/doctor.ts');
    expect(Object.keys(found.endpoints).sort((a, b) => (a < b ? -1 : 1))).toEqual([...FUNCTIONS]);
    expect(FUNCTIONS.length).toBeLessThanOrEqual(12);
  });

  test('every background trigger is on the creation of a document, and is redelivered', () => {
    const triggers = Object.values(found.endpoints).flatMap((endpoint) => eventTriggerOf(endpoint) ?? []);
    expect(triggers.length).toBeGreaterThan(0);
    for (const trigger of triggers) {
      expect(trigger).toMatchObject({ eventType: 'google.cloud.firestore.document.v1.created', retry: true });
    }
  });

  test('every function is bounded: instances, time, memory', () => {
    const unbounded = Object.entries(found.endpoints).flatMap(([name, endpoint]) => {
      const [instances, memory, seconds] = [endpoint['maxInstances'], endpoint['availableMemoryMb'], endpoint['timeoutSeconds']];
      // A background trigger may run for 540 s; where nothing is said it is the platform's 60 s.
      const bounded = typeof instances === 'number' && instances > 0 && memory === 512 && !(typeof seconds === 'number' && seconds > 540);
      return bounded ? [] : [name];
    });
    expect(unbounded).toEqual([]);
    expect([found.endpoints['stepCreated']?.['timeoutSeconds'], found.endpoints['doorbell']?.['timeoutSeconds']]).toEqual([540, 540]);
    expect(found.endpoints['reconcile']?.['maxInstances']).toBe(1);
  });

  test('the queue tries a ring again, within bounds', () => {
    const queue = asObject(found.endpoints['doorbell']?.['taskQueueTrigger']);
    expect(asObject(queue?.['retryConfig'])?.['maxAttempts']).toBeGreaterThan(1);
    expect(asObject(queue?.['rateLimits'])?.['maxConcurrentDispatches']).toBeLessThanOrEqual(500);
  });

  test('only the webhook address is open to everybody', () => {
    const invokers = Object.entries(found.endpoints).flatMap(([name, endpoint]) => {
      const invoker = asArray(asObject(endpoint['httpsTrigger'])?.['invoker']);
      return invoker.includes('public') ? [name] : [];
    });
    expect(invokers).toEqual(['http']);
  });

  test('every module of the upload loads with the packages that are deployed with it', async () => {
    const load = `
      import { readdirSync } from 'node:fs';
      const failed = [];
      for (const file of readdirSync('lib', { recursive: true }).filter((name) => name.endsWith('.js') && !name.startsWith('testing'))) {
        await import('./lib/' + file).catch((error) => failed.push(file + ': ' + error.message));
      }
      console.log(JSON.stringify(failed));
      process.exit(0);
    `;
    writeFileSync(join(upload, 'load.mjs'), load);
    const { stdout } = await run(process.execPath, ['--preserve-symlinks', '--preserve-symlinks-main', 'load.mjs'], { cwd: upload });
    expect(parseJson(stdout.trim().split('\n').at(-1) ?? '')).toEqual([]);
  });

  test('region and secrets are those of the settings', async () => {
    const moved = await discover({ KILN_REGION: 'europe-west1', KILN_SECRETS: 'OPENAI_API_KEY,CRM_TOKEN' });
    const told = Object.values(moved.endpoints).map((endpoint) => [
      endpoint['region'],
      asArray(endpoint['secretEnvironmentVariables']).map((secret) => asObject(secret)?.['key']),
    ]);
    expect(told).toEqual(told.map(() => [['europe-west1'], ['OPENAI_API_KEY', 'CRM_TOKEN']]));
    expect(told.length).toBe(Object.keys(found.endpoints).length);
  });
});

test('the lockfile is that of the package file, so that npm ci installs', () => {
  const read = (name: string): JsonObject => asObject(parseJson(readFileSync(join(ROOT, 'functions', name), 'utf8'))) ?? {};
  const locked = asObject(asObject(read('package-lock.json')['packages'])?.['']);
  expect(locked?.['dependencies']).toEqual(read('package.json')['dependencies']);
  expect(asObject(read('package.json')['engines'])?.['node']).toBe('24');
});

test('what firebase.json leaves out of the upload is not what runs', () => {
  const [functions] = asArray(asObject(parseJson(readFileSync(join(ROOT, 'firebase.json'), 'utf8')))?.['functions']);
  const ignored = asArray(asObject(functions)?.['ignore']);
  expect(ignored).toEqual(expect.arrayContaining(['node_modules', 'src', '.secret.local', '.env.local']));
  expect(ignored).not.toContain('lib');
});
