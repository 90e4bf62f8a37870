import { expect, test } from 'vitest';
import { loadPayload, storePayload } from './payloads.ts';
import { MemoryStore } from './memory-store.ts';

const ref = { accountId: 'a', runId: 'r' };

test('V1 a large text with characters of four bytes at every cut comes back as it was', async () => {
  for (const lead of ['', 'x']) {
    const store = new MemoryStore(() => 1);
    const text = JSON.stringify(lead + '🙂'.repeat(460_000));
    const { payload, writes } = storePayload(ref, 'big~output', text);
    expect(payload.json).toBeUndefined();
    await store.commit(writes);
    expect(await loadPayload(store, ref, payload)).toBe(text);
  }
});

test('D2 an attempt that lost its claim does not overwrite the parts that the winner stored', async () => {
  const store = new MemoryStore(() => 1);
  const winner = storePayload(ref, 'big~output', JSON.stringify('w'.repeat(400_000)));
  const loser = storePayload(ref, 'big~output', JSON.stringify('l'.repeat(400_000)));
  await store.commit(winner.writes);
  await store.commit(loser.writes);
  expect(await loadPayload(store, ref, winner.payload)).toContain('www');
});
