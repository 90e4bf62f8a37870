import { expect, inject, test } from 'vitest';

const DOCUMENTS = 'v1/projects/demo-kiln/databases/(default)/documents';

test('the shared Firestore emulator runs under the rules of this project', async () => {
  const host = inject('firestoreHost');
  expect(process.env['FIRESTORE_EMULATOR_HOST']).toBe(host);
  const answer = await fetch(`http://${host}/${DOCUMENTS}/nowhere/at-all`);
  expect(answer.status).toBe(403);
});

test('an administrator passes the rules', async () => {
  const answer = await fetch(`http://${inject('firestoreHost')}/${DOCUMENTS}/nowhere/at-all`, {
    headers: { authorization: 'Bearer owner' },
  });
  expect(answer.status).toBe(404);
});
