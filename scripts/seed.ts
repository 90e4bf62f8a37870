/** Seeds the demo account of the running emulators: people, members, the sample workflows and a webhook address. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeWorkflows } from '../functions/src/durable/index.ts';
import { publishWorkflow } from '../functions/src/ledger/definitions.ts';
import type { Write } from '../functions/src/ledger/store.ts';
import { readConfig } from '../functions/src/triggers/config.ts';
import { createRuntime } from '../functions/src/triggers/production.ts';
import { paths } from '../functions/src/model/paths.ts';
import { clientEnvironment } from './emulator/environment.ts';
import { DEMO_ACCOUNT, DEMO_DESK, DEMO_HOOK, DEMO_PASSWORD, DEMO_PEOPLE } from './kiln/people.ts';
import { PROJECT_ID, ROOT } from './root.ts';

const SAMPLES = join(ROOT, 'functions', 'samples');

/** Safe to run again: people and members are set, an unchanged workflow gets no new version. */
export async function seedDemo(): Promise<void> {
  const env = clientEnvironment();
  Object.assign(process.env, env);
  await Promise.all(DEMO_PEOPLE.map((person) => signUp(String(env['FIREBASE_AUTH_EMULATOR_HOST']), person)));
  // Nothing that seeding does waits for a time.
  const runtime = createRuntime(readConfig(process.env), { doorbells: { arm: () => Promise.resolve() } });
  const now = Date.now();
  const members = DEMO_PEOPLE.filter(({ member }) => member).map(({ uid, email, name, roles, departments }): Write => {
    const data = { v: 1, accountId: DEMO_ACCOUNT, uid, email, name, roles, departments, active: true, updatedAt: now, updatedBy: 'seed' };
    return { op: 'set', path: paths.member(DEMO_ACCOUNT, uid), data };
  });
  const hook = {
    v: 1,
    accountId: DEMO_ACCOUNT,
    hookId: DEMO_HOOK.id,
    scheme: { kind: 'github' },
    keys: [DEMO_HOOK.secretName],
    events: ['issues'],
    target: { kind: 'start', workflowId: 'issue-triage' },
    active: true,
  };
  const desk = {
    v: 1,
    accountId: DEMO_ACCOUNT,
    hookId: DEMO_DESK.id,
    scheme: { kind: 'standard' },
    keys: [DEMO_DESK.secretName],
    target: { kind: 'start', workflowId: 'support-triage' },
    active: true,
  };
  await runtime.store.commit([
    { op: 'set', path: paths.account(DEMO_ACCOUNT), data: { v: 1, accountId: DEMO_ACCOUNT, name: 'Demo' } },
    ...members,
    { op: 'set', path: paths.hook(DEMO_ACCOUNT, DEMO_HOOK.id), data: hook },
    { op: 'set', path: paths.hook(DEMO_ACCOUNT, DEMO_DESK.id), data: desk },
  ]);
  const publisher = { store: runtime.store, types: runtime.stepTypes, code: codeWorkflows(), now: () => runtime.clock.now() };
  for (const file of readdirSync(SAMPLES).filter((name) => name.endsWith('.json'))) {
    const definition: unknown = JSON.parse(readFileSync(join(SAMPLES, file), 'utf8'));
    await publishWorkflow(publisher, { accountId: DEMO_ACCOUNT, definition, publishedBy: 'seed' });
  }
}

async function signUp(host: string, { uid, email, name }: (typeof DEMO_PEOPLE)[number]): Promise<void> {
  const response = await fetch(`http://${host}/identitytoolkit.googleapis.com/v1/projects/${PROJECT_ID}/accounts`, {
    method: 'POST',
    headers: { Authorization: 'Bearer owner', 'Content-Type': 'application/json' },
    body: JSON.stringify({ localId: uid, email, password: DEMO_PASSWORD, displayName: name, emailVerified: true }),
  });
  if (response.ok) return;
  const text = await response.text();
  if (!text.includes('DUPLICATE_LOCAL_ID') && !text.includes('EMAIL_EXISTS'))
    throw new Error(`the Auth emulator refused ${email}: ${text}`);
}
