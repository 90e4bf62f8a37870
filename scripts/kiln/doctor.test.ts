import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../root.ts';
import { at, bindings, dueField, expiry, failure, good, healthy, member, patient, recorded, runtime } from './doctor-answers.testing.ts';
import type { Answers } from './doctor-answers.testing.ts';
import { googleApis } from './doctor-apis.ts';
import { checkMachine, checkSettings } from './doctor-machine.ts';
import { examine, FUNCTIONS } from './doctor.ts';
import { NEEDED_APIS } from './doctor-project.ts';
import type { Patient } from './doctor-project.ts';
import { reportLines } from './doctor-report.ts';
import type { Finding } from './doctor-report.ts';

async function findings(change: Answers, more: Partial<Patient> = {}): Promise<Finding[]> {
  return examine(recorded({ ...healthy(), ...change }), patient(more));
}

/** The only thing that is not in order. */
async function theGap(change: Answers, more: Partial<Patient> = {}): Promise<Finding> {
  const open = (await findings(change, more)).filter(({ state }) => state !== 'ok');
  expect(open).toHaveLength(1);
  return open[0] as Finding;
}

test('a project in which everything is in order has nothing to close', async () => {
  const all = await findings({});
  expect(all.filter(({ state }) => state !== 'ok')).toEqual([]);
  expect(all.map(({ check }) => check)).toEqual(
    expect.arrayContaining([
      'project',
      'billing',
      'apis',
      'database',
      'rules',
      'indexes',
      'ttl',
      'secrets',
      'functions',
      'queue',
      'roles',
      'budget',
    ]),
  );
});

describe('each broken set-up is found, with the command that repairs it', () => {
  test('no such project, or no access to it', async () => {
    const all = await findings({ [at.project]: failure(403, 'The caller does not have permission') });
    expect(all).toEqual([expect.objectContaining({ check: 'project', state: 'gap', fix: 'gcloud projects list' })]);
  });

  test('the Spark plan', async () => {
    const found = await findings({ [at.billing]: good({ billingEnabled: false, billingAccountName: '' }) });
    expect(found.find(({ check }) => check === 'billing')).toMatchObject({
      state: 'gap',
      fix: expect.stringContaining('gcloud billing projects link acme-kiln') as string,
    });
  });

  test('APIs that are off', async () => {
    const services = NEEDED_APIS.filter((name) => !name.startsWith('cloudtasks') && !name.startsWith('eventarc')).map((name) => ({
      config: { name },
    }));
    expect(await theGap({ [at.services]: good({ services }) })).toMatchObject({
      check: 'apis',
      fix: 'gcloud services enable eventarc.googleapis.com cloudtasks.googleapis.com --project acme-kiln',
    });
  });

  test('no database', async () => {
    expect(await theGap({ [at.database]: failure(404, 'not found') })).toMatchObject({
      check: 'database',
      fix: 'gcloud firestore databases create --location=europe-west1 --project=acme-kiln',
    });
  });

  test('a database elsewhere than the functions', async () => {
    expect(await theGap({ [at.database]: good({ locationId: 'nam5', type: 'FIRESTORE_NATIVE' }) })).toMatchObject({
      check: 'database',
      fix: expect.stringContaining('KILN_REGION=us-central1') as string,
    });
  });

  test('a database in Datastore mode', async () => {
    expect(await theGap({ [at.database]: good({ locationId: 'eur3', type: 'DATASTORE_MODE' }) })).toMatchObject({
      check: 'database',
      state: 'gap',
    });
  });

  test('no queue, and a queue that is paused', async () => {
    expect(await theGap({ [at.queue]: failure(404, 'Queue does not exist') })).toMatchObject({
      check: 'queue',
      fix: 'firebase deploy --only functions:kiln:doorbell --project acme-kiln',
    });
    expect(await theGap({ [at.queue]: good({ state: 'PAUSED' }) })).toMatchObject({
      check: 'queue',
      fix: 'gcloud tasks queues resume doorbell --location europe-west1 --project acme-kiln',
    });
  });

  test.each([
    [
      'roles/cloudtasks.enqueuer',
      'may not add tasks',
      `gcloud projects add-iam-policy-binding acme-kiln --member ${member} --role roles/cloudtasks.enqueuer`,
    ],
    [
      'roles/iam.serviceAccountUser',
      'may not act as',
      `gcloud iam service-accounts add-iam-policy-binding ${runtime} --member ${member} --role roles/iam.serviceAccountUser --project acme-kiln`,
    ],
    [
      'roles/eventarc.eventReceiver',
      'may not receive',
      `gcloud projects add-iam-policy-binding acme-kiln --member ${member} --role roles/eventarc.eventReceiver`,
    ],
  ])('without %s', async (missing, says, fix) => {
    const rest = ['roles/cloudtasks.enqueuer', 'roles/iam.serviceAccountUser', 'roles/eventarc.eventReceiver'].filter(
      (role) => role !== missing,
    );
    const found = await theGap({ [at.policy]: bindings(...rest.map((role) => [role, member] as const)) });
    expect(found).toMatchObject({ check: 'roles', says: expect.stringContaining(says) as string, fix });
  });

  test('the account whose token doorbells carry may not ring', async () => {
    expect(await theGap({ [at.doorbell]: good({}) })).toMatchObject({
      check: 'roles',
      fix: `gcloud run services add-iam-policy-binding doorbell --region europe-west1 --member ${member} --role roles/run.invoker --project acme-kiln`,
    });
  });

  test('a role that is given under a condition is not relied on', async () => {
    const conditional = {
      role: 'roles/cloudtasks.enqueuer',
      members: [member],
      condition: { expression: 'request.time < timestamp("2026-01-01T00:00:00Z")' },
    };
    const rest = ['roles/iam.serviceAccountUser', 'roles/eventarc.eventReceiver'].map((role) => ({ role, members: [member] }));
    expect(await theGap({ [at.policy]: good({ bindings: [conditional, ...rest] }) })).toMatchObject({
      says: expect.stringContaining('may not add tasks') as string,
    });
  });

  test('an account that does not exist: projects of today have no App Engine account', async () => {
    expect(await theGap({}, { taskAccount: undefined })).toMatchObject({
      check: 'roles',
      says: expect.stringContaining('acme-kiln@appspot.gserviceaccount.com') as string,
      fix: expect.stringContaining(`KILN_SERVICE_ACCOUNT=${runtime}`) as string,
    });
  });

  test('a secret that is missing, and one whose newest version is off', async () => {
    const set = 'firebase functions:secrets:set OPENAI_API_KEY --project acme-kiln';
    expect(await theGap({ [at.secret]: failure(404, 'not found') })).toMatchObject({ check: 'secrets', fix: set });
    expect(await theGap({ [at.secret]: good({ state: 'DISABLED' }) })).toMatchObject({ check: 'secrets', fix: set });
  });

  test('an index that is missing, and one that is still being built', async () => {
    const [first] = (healthy()[at.indexes]?.body['indexes'] ?? []) as object[];
    expect(await theGap({ [at.indexes]: good({ indexes: [first] }) })).toMatchObject({
      check: 'indexes',
      state: 'gap',
      says: expect.stringContaining('kbChunks') as string,
      fix: 'firebase deploy --only firestore:indexes --project acme-kiln',
    });
    const building = ((healthy()[at.indexes]?.body['indexes'] ?? []) as object[]).map((index) => ({ ...index, state: 'CREATING' }));
    expect(await theGap({ [at.indexes]: good({ indexes: building }) })).toMatchObject({ check: 'indexes', state: 'unknown' });
  });

  test('a field that the reconciler looks for over all runs, and that is not indexed so', async () => {
    expect(await theGap({ [at.fields]: good({ fields: [expiry] }) })).toMatchObject({
      check: 'indexes',
      says: expect.stringContaining('steps COLLECTION_GROUP [due ASCENDING]') as string,
      fix: 'firebase deploy --only firestore:indexes --project acme-kiln',
    });
  });

  test('rules that are missing, or other than the file', async () => {
    const fix = 'firebase deploy --only firestore:rules --project acme-kiln';
    expect(await theGap({ [at.release]: failure(404, 'not found') })).toMatchObject({ check: 'rules', fix });
    expect(await theGap({ [at.ruleset]: good({ source: { files: [{ content: 'allow read, write: if true;' }] } }) })).toMatchObject({
      check: 'rules',
      fix,
    });
  });

  test('a TTL policy that is not active', async () => {
    expect(await theGap({ [at.fields]: good({ fields: [dueField] }) })).toMatchObject({
      check: 'ttl',
      says: expect.stringContaining('events.expireAt') as string,
    });
  });

  test('functions that are missing or broken', async () => {
    const all = (healthy()[at.functions]?.body['functions'] ?? []) as { name: string }[];
    expect(await theGap({ [at.functions]: good({ functions: all.filter(({ name }) => !name.endsWith('/reconcile')) }) })).toMatchObject({
      check: 'functions',
      fix: 'firebase deploy --only functions:kiln:reconcile --project acme-kiln',
    });
    expect(
      await theGap({
        [at.functions]: good({ functions: all.map((one) => (one.name.endsWith('/stepCreated') ? { ...one, state: 'FAILED' } : one)) }),
      }),
    ).toMatchObject({
      says: expect.stringContaining('stepCreated (FAILED)') as string,
    });
  });

  test('an API that is off says so wherever it is asked', async () => {
    const details = [
      {
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        reason: 'SERVICE_DISABLED',
        metadata: { service: 'cloudtasks.googleapis.com' },
      },
    ];
    expect(await theGap({ [at.queue]: failure(403, 'Cloud Tasks API has not been used', details) })).toMatchObject({
      fix: 'gcloud services enable cloudtasks.googleapis.com --project acme-kiln',
    });
  });

  test('what may not be looked at is unknown, not in order', async () => {
    expect(await theGap({ [at.queue]: failure(403, 'permission denied') })).toMatchObject({ check: 'queue', state: 'unknown' });
    expect(await theGap({ [at.queue]: failure(401, 'expired') })).toMatchObject({ state: 'unknown', fix: 'gcloud auth login' });
  });

  test('no budget is advice, not a gap', async () => {
    expect(await theGap({ [at.budgets]: good({}) })).toMatchObject({
      check: 'budget',
      state: 'advice',
      fix: expect.stringContaining('gcloud billing budgets create') as string,
    });
  });
});

describe('what this machine and this folder say', () => {
  const machine = { node: 'v24.1.0', java: 21, firebaseCli: '14.27.0', gcloud: true };

  test('an old Node, no Java, an old CLI and no gcloud are found', () => {
    expect(checkMachine(machine).every(({ state }) => state === 'ok')).toBe(true);
    const found = checkMachine({ node: 'v20.3.0', java: undefined, firebaseCli: '13.0.0', gcloud: false });
    expect(found.map(({ check, state }) => `${check} ${state}`)).toEqual(['node gap', 'java gap', 'firebase-cli gap', 'gcloud gap']);
  });

  const env = {
    KILN_REGION: 'europe-west1',
    KILN_MAIL_FROM: 'kiln@acme.test',
    KILN_WEB_URL: 'https://acme-kiln.web.app',
    KILN_SERVICE_ACCOUNT: runtime,
  };
  const rewriteTo = (region: string | undefined): object => ({
    hosting: { rewrites: [{ source: '/hooks/**', function: { functionId: 'http', ...(region === undefined ? {} : { region }) } }] },
  });
  const gaps = (settings: Record<string, string>, firebaseJson: object): Finding[] =>
    checkSettings({ project: 'acme-kiln', env: settings, firebaseJson }).filter(({ state }) => state === 'gap');

  test('settings that are complete have no gap', () => {
    expect(gaps(env, rewriteTo('europe-west1'))).toEqual([]);
  });

  test('rewrites to another region, also where the region is left out', () => {
    for (const region of ['us-central1', undefined]) {
      expect(gaps(env, rewriteTo(region))).toMatchObject([
        { check: 'hosting', fix: 'npm run kiln -- init --project acme-kiln --region europe-west1' },
      ]);
    }
  });

  test('a key in a file that is deployed in the open', () => {
    expect(gaps({ ...env, OPENAI_API_KEY: 'sk-live' }, rewriteTo('europe-west1'))).toMatchObject([
      { says: expect.stringContaining('OPENAI_API_KEY') as string },
    ]);
  });

  test('the sender of the example, an address that is no origin, and private hosts', () => {
    const broken = {
      ...env,
      KILN_MAIL_FROM: 'kiln@example.com',
      KILN_WEB_URL: 'http://localhost:5000',
      KILN_ALLOW_PRIVATE_HOSTS: '127.0.0.1:8080',
    };
    expect(gaps(broken, rewriteTo('europe-west1'))).toHaveLength(3);
  });

  test('no settings at all', () => {
    expect(checkSettings({ project: 'acme-kiln', env: undefined, firebaseJson: {} })).toMatchObject([
      { fix: 'npm run kiln -- init --project acme-kiln' },
    ]);
  });
});

test('the list of functions is that of the code', () => {
  const exported = [
    ...readFileSync(join(ROOT, 'functions', 'src', 'index.ts'), 'utf8').matchAll(/^export const (\w+) = (?:created|on\w+)\(/gm),
  ];
  expect(new Set(exported.map(([, name]) => name))).toEqual(new Set(FUNCTIONS));
});

test('the report ends with what is left to do', async () => {
  const text = reportLines(await findings({ [at.queue]: failure(404, 'Queue does not exist') }));
  expect(text).toContain('firebase deploy --only functions:kiln:doorbell');
  expect(text).toContain('1 to close, 0 could not be looked at');
  expect(reportLines(await findings({}))).toContain('in order');
});

test('the real port sends the token and reads JSON, and text that is none as nothing', async () => {
  const asked: { url: string; headers: Headers; method: string }[] = [];
  const fetcher: typeof fetch = (input, init) => {
    asked.push({
      url: input instanceof Request ? input.url : input.toString(),
      headers: new Headers(init?.headers),
      method: init?.method ?? 'GET',
    });
    return Promise.resolve(new Response(asked.length === 1 ? '{"a":1}' : '<html>', { status: asked.length === 1 ? 200 : 502 }));
  };
  const apis = googleApis('ya29.token', 'acme-kiln', fetcher);
  expect(await apis.get('https://x.test/a')).toEqual({ status: 200, body: { a: 1 } });
  expect(await apis.post('https://x.test/b', {})).toEqual({ status: 502, body: {} });
  expect(asked.map(({ method, headers }) => [method, headers.get('authorization'), headers.get('x-goog-user-project')])).toEqual([
    ['GET', 'Bearer ya29.token', 'acme-kiln'],
    ['POST', 'Bearer ya29.token', 'acme-kiln'],
  ]);
});
