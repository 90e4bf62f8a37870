import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deleteApp, initializeApp } from 'firebase/app';
import type { FirebaseApp } from 'firebase/app';
import { connectFirestoreEmulator, getFirestore as getClientFirestore } from 'firebase/firestore';
import type { Firestore } from 'firebase/firestore';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { FirestoreStore } from '../functions/src/ledger/firestore-store.ts';
import { appendAudit, appendHistory, entryId, exportHistory } from '../functions/src/ledger/history.ts';
import type { Happening } from '../functions/src/ledger/history.ts';
import { paths } from '../functions/src/model/paths.ts';
import { person } from '../functions/src/testing/person.ts';
import { readChain, verifyChain } from '../scripts/kiln/audit.ts';
import { ROOT } from '../scripts/root.ts';
import { firestorePackage } from './functions-packages.ts';
import { RulesClient } from './rules/client.ts';

const PROJECT = 'demo-audit';
const ACCOUNT = 'acme';
/** More than the rules allow in one list. */
const ENTRIES = 501;
const host = inject('firestoreHost');
const { Firestore: AdminFirestore } = firestorePackage();
/** What an admin of the project can do: write anything, past the rules. */
const db = new AdminFirestore({ projectId: PROJECT, host, ssl: false });
const store = new FirestoreStore(db);
const folder = mkdtempSync(join(tmpdir(), 'kiln-audit-'));
const apps: FirebaseApp[] = [];
let runs = 0;

/** Reads as that member, under the rules. */
function as(uid: string): { db: Firestore } {
  const app = initializeApp({ projectId: PROJECT, apiKey: 'local' }, `${PROJECT}-${uid}-${apps.length}`);
  apps.push(app);
  const client = getClientFirestore(app);
  const [name = '', port = ''] = host.split(':');
  connectFirestoreEmulator(client, name, Number(port), { mockUserToken: { sub: uid } });
  return { db: client };
}

const happenings = (count: number): Happening[] =>
  Array.from({ length: count }, (_, i) => ({ kind: 'test', by: 'ada', text: `thing ${i + 1}`, data: { i } }));

async function newHistory(count: number): Promise<string> {
  const ref = { accountId: ACCOUNT, runId: `r${(runs += 1)}` };
  await store.transaction(async (tx) => {
    for (const write of await appendHistory(tx, ref, happenings(count), 5)) tx.write(write);
  });
  return paths.historyOf(ref.accountId, ref.runId);
}

beforeAll(async () => {
  await new RulesClient(host, PROJECT).loadRules(readFileSync(join(ROOT, 'firestore.rules'), 'utf8'));
  const members = [person('amira', { roles: ['admin'] }, ACCOUNT), person('otto', { roles: ['operator'] }, ACCOUNT)];
  await store.commit(members.map((member) => ({ op: 'set', path: paths.member(ACCOUNT, member.uid), data: member })));
});

afterAll(async () => {
  await Promise.all(apps.map(deleteApp));
  await db.terminate();
  rmSync(folder, { recursive: true, force: true });
});

test('an account’s audit log of more than a page is exported as stored and its chain holds', async () => {
  await store.transaction(async (tx) => {
    for (const write of await appendAudit(tx, ACCOUNT, happenings(ENTRIES), 5)) tx.write(write);
  });
  const place = { session: as('amira'), path: paths.audit(ACCOUNT) };
  expect(await verifyChain(place)).toMatchObject({ ok: true, entries: ENTRIES });
  const lines = exportHistory((await readChain(place)).entries)
    .trimEnd()
    .split('\n');
  expect(lines).toHaveLength(ENTRIES);
  expect(JSON.parse(lines[ENTRIES - 1] ?? '')).toEqual((await db.doc(`${place.path}/${entryId(ENTRIES)}`).get()).data());
  await expect(readChain({ session: as('otto'), path: paths.audit(ACCOUNT) })).rejects.toMatchObject({ code: 'permission-denied' });
});

test.each<[string, (path: string) => Promise<unknown>, number]>([
  ['changed', (path) => db.doc(`${path}/${entryId(3)}`).update({ text: 'nothing happened' }), 3],
  ['taken out of the middle', (path) => db.doc(`${path}/${entryId(2)}`).delete(), 2],
  ['taken off the end', (path) => db.doc(`${path}/${entryId(4)}`).delete(), 4],
  [
    'forged, with a hash that does not fit',
    (path) =>
      db
        .doc(`${path}/${entryId(5)}`)
        .set({ v: 1, n: 5, at: 5, kind: 'test', by: 'eve', text: 'x', prev: '0'.repeat(64), hash: '1'.repeat(64) }),
    5,
  ],
])('an entry of a run’s history that the admin SDK has %s is named', async (_what, tamper, n) => {
  const path = await newHistory(4);
  const session = as('otto');
  expect(await verifyChain({ session, path })).toMatchObject({ ok: true, entries: 4 });
  await tamper(path);
  expect(await verifyChain({ session, path })).toMatchObject({ ok: false, n });
});

test('a history that was rewritten as a whole shows against an earlier export, and so does a changed export', async () => {
  const path = await newHistory(3);
  const session = as('otto');
  const file = join(folder, 'kept.jsonl');
  const kept = exportHistory((await readChain({ session, path })).entries);
  writeFileSync(file, kept);
  expect(await verifyChain({ session, path }, file)).toMatchObject({ ok: true, entries: 3 });
  await db.recursiveDelete(db.collection(path));
  await store.transaction(async (tx) => {
    const runId = path.split('/')[3] ?? '';
    for (const write of await appendHistory(tx, { accountId: ACCOUNT, runId }, happenings(3), 6)) tx.write(write);
  });
  expect(await verifyChain({ session, path })).toMatchObject({ ok: true });
  expect(await verifyChain({ session, path }, file)).toMatchObject({ ok: false, n: 3 });
  writeFileSync(file, kept.replace('thing 2', 'thing 9'));
  expect(await verifyChain({ session, path: await newHistory(3) }, file)).toMatchObject({
    ok: false,
    n: 2,
    problem: expect.stringContaining('kept.jsonl') as string,
  });
});
