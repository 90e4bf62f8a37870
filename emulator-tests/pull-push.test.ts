import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deleteApp, initializeApp } from 'firebase/app';
import { connectFirestoreEmulator, getFirestore as getClientFirestore } from 'firebase/firestore';
import type { Firestore } from 'firebase/firestore';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { canonicalJson, digest } from '../functions/src/engine/json.ts';
import { changesOf, readDefinitions, writeDefinitions } from '../scripts/kiln/definition-files.ts';
import { readPublished } from '../scripts/kiln/definition-commands.ts';
import { ROOT } from '../scripts/root.ts';
import { RulesClient } from './rules/client.ts';

const PROJECT = 'demo-pull-push';
const host = inject('firestoreHost');
const administrator = new RulesClient(host, PROJECT);
const app = initializeApp({ projectId: PROJECT, apiKey: 'local' }, PROJECT);
const folder = mkdtempSync(join(tmpdir(), 'kiln-pull-'));
let db: Firestore;

/** One more than the rules allow in one list. */
const COUNT = 101;
const ids = Array.from({ length: COUNT }, (_, at) => `wf${String(at).padStart(3, '0')}`);

async function publish(id: string, version: number, value: unknown): Promise<void> {
  const json = canonicalJson({ id, steps: [{ id: 'x', type: 'transform', value }] });
  const base = `accounts/acme/workflows/${id}`;
  await administrator.set(`${base}/versions/${version}`, {
    v: 1,
    workflowId: id,
    version,
    hash: digest(json),
    json,
    publishedAt: 0,
    publishedBy: 'otto',
  });
  await administrator.set(base, { v: 1, workflowId: id, name: id, latest: version, hash: digest(json), updatedAt: 0 });
}

beforeAll(async () => {
  await administrator.loadRules(readFileSync(join(ROOT, 'firestore.rules'), 'utf8'));
  const member = {
    v: 1,
    accountId: 'acme',
    uid: 'otto',
    email: 'o@acme.test',
    name: 'Otto',
    roles: ['author'],
    departments: [],
    active: true,
  };
  await administrator.set('accounts/acme/members/otto', { ...member, updatedAt: 0, updatedBy: 'seed' });
  for (const id of ids) await publish(id, 1, 1);
  await publish('wf000', 2, 'second');
  db = getClientFirestore(app);
  const [name = '', port = ''] = host.split(':');
  connectFirestoreEmulator(db, name, Number(port), { mockUserToken: { sub: 'otto' } });
});

afterAll(async () => {
  await deleteApp(app);
  rmSync(folder, { recursive: true, force: true });
});

test('a member pulls every workflow under the rules, page by page, in its newest version', async () => {
  const published = await readPublished({ db }, 'acme', 'workflows');
  expect(published.map(({ id }) => id)).toEqual(ids);
  expect(published[0]?.text).toContain('second');
  expect(writeDefinitions(folder, published)).toHaveLength(COUNT);
  expect(changesOf(published, readDefinitions(folder)).every(({ kind }) => kind === 'same')).toBe(true);
  writeFileSync(join(folder, 'wf007.json'), '{"id":"wf007","steps":[{"id":"x","type":"transform","value":"changed"}]}');
  expect(changesOf(published, readDefinitions(folder)).flatMap(({ id, kind }) => (kind === 'same' ? [] : [`${id} ${kind}`]))).toEqual([
    'wf007 changed',
  ]);
});

test('who is no member pulls nothing', async () => {
  await expect(readPublished({ db }, 'other', 'recipes')).rejects.toMatchObject({ code: 'permission-denied' });
});
