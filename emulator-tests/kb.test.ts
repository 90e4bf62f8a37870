import { inject, afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { llmEmbedder } from '../functions/src/services/kb/embedder.ts';
import { createKnowledgeBase, type KnowledgeBaseDeps } from '../functions/src/services/kb/firestore-knowledge-base.ts';
import type { Embedder, KnowledgeBase } from '../functions/src/services/kb/knowledge-base.ts';
import { createLlmClient } from '../functions/src/services/llm.ts';
import { firestorePackage, type Firestore } from './functions-packages.ts';
import { startDevModel, type DevModelServer } from './services/index.ts';

/** The knowledge base on the real Firestore emulator, with vectors from the openai SDK talking to the dev model over HTTP. */
let db: Firestore;
let model: DevModelServer;
let embedder: Embedder;
let account = 0;
let time = 1_700_000_000_000;
let ids = 0;

beforeAll(async () => {
  const { Firestore } = firestorePackage();
  db = new Firestore({ projectId: 'demo-kiln', host: inject('firestoreHost'), ssl: false });
  model = await startDevModel();
  const llm = createLlmClient({ apiKey: () => 'dev', baseUrl: model.url, now: Date.now });
  embedder = llmEmbedder(llm, 'kiln-dev-embedding', 256);
});

afterAll(async () => {
  await model.close();
  await db.terminate();
});

beforeEach(() => {
  account += 1;
  time += 1_000;
});

const here = (): string => `kb-${account}`;

function base(part: Partial<KnowledgeBaseDeps> = {}): KnowledgeBase {
  return createKnowledgeBase({ db, embedder, now: () => time, newId: () => `g${(ids += 1)}`, ...part });
}

const refunds = {
  id: 'refunds',
  title: 'Refund policy',
  collection: 'policies',
  department: 'support',
  tags: ['public'],
  markdown: '# Refunds\nRefunds are paid within 14 days of the return.\n\n# Damage\nDamaged goods are replaced at no cost.',
};
const shipping = {
  id: 'shipping',
  title: 'Shipping',
  collection: 'policies',
  department: 'logistics',
  markdown: 'Parcels travel three days inside the country and ten days abroad.',
};

async function chunkCount(docId: string): Promise<number> {
  return (await db.collection(`accounts/${here()}/kbChunks`).where('docId', '==', docId).count().get()).data().count;
}

test('a document is found by its meaning and cited with id, version and passage', async () => {
  const kb = base();
  expect(await kb.add(here(), { ...refunds, sourceRunId: 'run-1' })).toMatchObject({
    id: 'refunds',
    version: 1,
    changed: true,
    chunkCount: 2,
    usage: { outputTokens: 0 },
  });
  await kb.add(here(), shipping);
  const [first, ...others] = await kb.search(here(), { text: 'When are refunds paid?', topK: 3 });
  expect(first).toMatchObject({
    documentId: 'refunds',
    version: 1,
    title: 'Refund policy',
    heading: 'Refunds',
    n: 0,
    method: 'vector',
    text: expect.stringContaining('14 days'),
  });
  expect(first?.score).toBeGreaterThan(others[0]?.score ?? 1);
  expect(await kb.get(here(), 'refunds')).toMatchObject({
    markdown: refunds.markdown,
    sourceRunId: 'run-1',
    embeddingModel: 'kiln-dev-embedding',
    createdAt: time,
  });
});

test('the threshold, the collection, the department, the tags and the documents narrow a search', async () => {
  const kb = base();
  await kb.add(here(), refunds);
  await kb.add(here(), shipping);
  const found = async (part: object): Promise<string[]> =>
    [...new Set((await kb.search(here(), { text: 'refund days', topK: 10, ...part })).map(({ documentId }) => documentId))].sort();
  expect(await found({})).toEqual(['refunds', 'shipping']);
  expect(await found({ collection: 'policies' })).toEqual(['refunds', 'shipping']);
  expect(await found({ collection: 'recipes' })).toEqual([]);
  expect(await found({ department: 'logistics' })).toEqual(['shipping']);
  expect(await found({ collection: 'policies', department: 'support' })).toEqual(['refunds']);
  expect(await found({ tags: ['public'] })).toEqual(['refunds']);
  expect(await found({ documentIds: ['shipping'] })).toEqual(['shipping']);
  expect(await found({ documentIds: [] })).toEqual([]);
  expect(await found({ threshold: 0.999 })).toEqual([]);
  expect(await found({ text: '   ' })).toEqual([]);
});

test('one account never sees the documents of another', async () => {
  const kb = base();
  await kb.add(here(), refunds);
  expect(await kb.search('kb-other', { text: 'refunds' })).toEqual([]);
  expect(await kb.get('kb-other', 'refunds')).toBeUndefined();
  expect((await kb.list('kb-other', { limit: 10 })).documents).toEqual([]);
});

test('adding the same again changes nothing; other content is a new version, and the old passages are gone', async () => {
  const kb = base();
  await kb.add(here(), refunds);
  const calls = model.stats.embeddingCalls;
  expect(await kb.add(here(), { ...refunds, sourceRunId: 'run-2' })).toMatchObject({ version: 1, changed: false });
  expect(model.stats.embeddingCalls).toBe(calls);
  expect(await kb.add(here(), { ...refunds, markdown: '# Refunds\nRefunds are paid within 30 days.' })).toMatchObject({
    version: 2,
    changed: true,
    chunkCount: 1,
  });
  expect(await chunkCount('refunds')).toBe(1);
  const hits = await kb.search(here(), { text: 'refunds paid days', topK: 10 });
  expect(hits.map(({ version, text }) => ({ version, text }))).toEqual([{ version: 2, text: 'Refunds are paid within 30 days.' }]);
});

test('a document without an id has one of its own: the same title in the same collection', async () => {
  const kb = base();
  const { id: _id, ...anonymous } = refunds;
  const first = await kb.add(here(), anonymous);
  expect(await kb.add(here(), { ...anonymous, markdown: 'Changed.' })).toMatchObject({ id: first.id, version: 2 });
  expect((await kb.add(here(), { ...anonymous, collection: 'other' })).id).not.toBe(first.id);
});

test('a crash after the chunks and before the document shows nothing, and the next addition goes through', async () => {
  let dies = true;
  // The proxy dies where the process would: when the transaction that publishes the document begins.
  const dying = new Proxy(db, {
    get(target, name) {
      if (name === 'runTransaction' && dies) return () => Promise.reject(new Error('process died'));
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const kb = base({ db: dying });
  await expect(kb.add(here(), refunds)).rejects.toThrow('process died');
  expect(await chunkCount('refunds')).toBe(2);
  expect(await kb.search(here(), { text: 'refunds' })).toEqual([]);
  dies = false;
  expect(await kb.add(here(), refunds)).toMatchObject({ version: 1, changed: true });
  expect(await kb.search(here(), { text: 'refunds', topK: 10 })).toHaveLength(2);
  // The leftovers go once no addition can be at work on them any more.
  time += 2 * 60 * 60 * 1000;
  await kb.add(here(), { ...refunds, markdown: 'Refunds: ask us.' });
  expect(await chunkCount('refunds')).toBe(1);
});

test('eight additions at once leave one whole version of one of them', async () => {
  const kb = base();
  const texts = Array.from({ length: 8 }, (_, index) => `Refunds variant ${index}. Paid within ${index} days.`);
  await Promise.all(texts.map((markdown) => kb.add(here(), { ...refunds, markdown })));
  const document = await kb.get(here(), 'refunds');
  expect(document?.version).toBe(8);
  expect(texts).toContain(document?.markdown);
  const hits = await kb.search(here(), { text: 'refunds variant days', topK: 50 });
  expect(hits.map(({ text }) => text)).toEqual([document?.markdown]);
  expect(await chunkCount('refunds')).toBe(1);
});

test('the same addition eight times at once is one version', async () => {
  const kb = base();
  const results = await Promise.all(Array.from({ length: 8 }, () => kb.add(here(), refunds)));
  expect(new Set(results.map(({ version }) => version))).toEqual(new Set([1]));
  expect(results.filter(({ changed }) => changed)).toHaveLength(1);
  expect(await chunkCount('refunds')).toBe(2);
});

test('without an embedding model documents are found by their words', async () => {
  const kb = base({ embedder: undefined });
  await kb.add(here(), refunds);
  await kb.add(here(), shipping);
  const hits = await kb.search(here(), { text: 'How long does a refund take to be paid?' });
  expect(hits[0]).toMatchObject({ documentId: 'refunds', n: 0, method: 'keyword' });
  expect(await kb.search(here(), { text: 'elephant' })).toEqual([]);
  expect(await kb.search(here(), { text: 'parcel abroad', department: 'support' })).toEqual([]);
  expect((await kb.search(here(), { text: 'parcel abroad', department: 'logistics' }))[0]).toMatchObject({ documentId: 'shipping' });
});

test('documents from before the model was configured are still found, and embedded when they are added again', async () => {
  await base({ embedder: undefined }).add(here(), refunds);
  const kb = base();
  expect((await kb.search(here(), { text: 'refund' }))[0]).toMatchObject({ documentId: 'refunds', method: 'keyword' });
  expect(await kb.add(here(), refunds)).toMatchObject({ version: 1, changed: false });
  expect((await kb.search(here(), { text: 'refund' }))[0]).toMatchObject({ documentId: 'refunds', version: 1, method: 'vector' });
  expect(await chunkCount('refunds')).toBe(2);
});

test('a deleted document is found no more', async () => {
  const kb = base();
  await kb.add(here(), refunds);
  expect(await kb.delete(here(), 'refunds')).toBe(true);
  expect(await kb.delete(here(), 'refunds')).toBe(false);
  expect(await kb.search(here(), { text: 'refunds' })).toEqual([]);
  expect(await chunkCount('refunds')).toBe(0);
  expect(await kb.add(here(), refunds)).toMatchObject({ version: 1, changed: true });
});

test('documents are listed page by page, last changed first', async () => {
  const kb = base({ embedder: undefined });
  for (let index = 0; index < 5; index += 1) {
    time += 1_000;
    await kb.add(here(), { ...shipping, id: `d${index}`, title: `Title ${index}`, collection: index === 2 ? 'other' : 'policies' });
  }
  const first = await kb.list(here(), { limit: 2 });
  expect(first.documents.map(({ id }) => id)).toEqual(['d4', 'd3']);
  const second = await kb.list(here(), { limit: 2, after: first.next ?? '' });
  expect(second.documents.map(({ id }) => id)).toEqual(['d2', 'd1']);
  const third = await kb.list(here(), { limit: 2, after: second.next ?? '' });
  expect([third.documents.map(({ id }) => id), third.next]).toEqual([['d0'], undefined]);
  expect((await kb.list(here(), { limit: 10, collection: 'other' })).documents.map(({ id }) => id)).toEqual(['d2']);
  expect((await kb.list(here(), { limit: 10, department: 'logistics' })).documents).toHaveLength(5);
});

test('what cannot be stored is refused before anything is written', async () => {
  const kb = base();
  await expect(kb.add(here(), { ...refunds, markdown: 'x'.repeat(400 * 1024 + 1) })).rejects.toMatchObject({ code: 'kb.too_large' });
  await expect(kb.add(here(), { ...refunds, id: 'a/b' })).rejects.toMatchObject({ code: 'request.invalid' });
  await expect(kb.add(here(), { ...refunds, title: '' })).rejects.toMatchObject({ code: 'request.invalid' });
  expect((await kb.list(here(), { limit: 10 })).documents).toEqual([]);
});

test('a document of the largest size goes in and is found', async () => {
  const kb = base();
  const markdown = Array.from(
    { length: 380 },
    (_, index) => `## Part ${index}\n${`Text of part ${index} about topic${index}. `.repeat(30)}`,
  )
    .join('\n\n')
    .slice(0, 400 * 1024);
  const added = await kb.add(here(), { ...refunds, markdown });
  expect(added.chunkCount).toBeGreaterThan(350);
  expect((await kb.search(here(), { text: 'topic137' }))[0]).toMatchObject({ heading: 'Part 137' });
});
