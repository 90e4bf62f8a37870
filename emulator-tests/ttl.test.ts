import { afterAll, expect, inject, test } from 'vitest';
import { FirestoreStore } from '../functions/src/ledger/firestore-store.ts';
import { firestorePackage } from './functions-packages.ts';

const { Firestore, Timestamp } = firestorePackage();
const db = new Firestore({ projectId: 'demo-ttl', host: inject('firestoreHost'), ssl: false });
const store = new FirestoreStore(db);

afterAll(async () => {
  await db.terminate();
});

test('what expires carries a timestamp for Firestore’s TTL policy, which nobody else sees', async () => {
  await store.commit([{ op: 'create', path: 'things/a', data: { v: 1, expiresAt: 1_800_000_000_000 } }]);
  await store.commit([{ op: 'update', path: 'things/a', data: { v: 2, expiresAt: 1_900_000_000_000 } }]);
  const raw = (await db.doc('things/a').get()).data();
  expect(raw?.['ttl']).toBeInstanceOf(Timestamp);
  expect((raw?.['ttl'] as InstanceType<typeof Timestamp> | undefined)?.toMillis()).toBe(1_900_000_000_000);
  const { docs } = await store.get(['things/a']);
  expect(docs[0]?.data).toEqual({ v: 2, expiresAt: 1_900_000_000_000 });
});
