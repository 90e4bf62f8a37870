import type { Query, QueryDocumentSnapshot } from '@google-cloud/firestore';
import { KilnError } from '../../model/errors.ts';
import type { KnowledgeBaseDeps } from './firestore-knowledge-base.ts';
import { bm25, distinctWords, MAX_QUERY_TERMS } from './keywords.ts';
import type { KbHit, KbQuery } from './knowledge-base.ts';
import { type KbChunk, kbChunkSchema, kbPaths, kbRecordSchema } from './records.ts';

const DEFAULT_TOP_K = 5;
const MAX_TOP_K = 50;
/** Candidates per hit: some fall to tags, to old versions, to the threshold. */
const OVERFETCH = 4;
const MAX_NEIGHBOURS = 1_000;
const MAX_KEYWORD_CANDIDATES = 500;
/** Firestore compares a field with at most 30 values. */
const MAX_DOCUMENT_IDS = 30;

interface Candidate {
  readonly chunk: KbChunk;
  readonly score: number;
  readonly method: KbHit['method'];
}

/**
 * The passages that fit a question best: by meaning among the chunks that are embedded with the configured model; by words
 * where no model is configured, or where too few chunks are embedded with it. Only a document's current version counts.
 */
export async function searchChunks(deps: KnowledgeBaseDeps, accountId: string, query: KbQuery): Promise<readonly KbHit[]> {
  const topK = Math.min(Math.max(query.topK ?? DEFAULT_TOP_K, 1), MAX_TOP_K);
  if (query.text.trim() === '' || query.documentIds?.length === 0) return [];
  if ((query.documentIds?.length ?? 0) > MAX_DOCUMENT_IDS)
    throw new KilnError('request.invalid', `A search names at most ${MAX_DOCUMENT_IDS} documents.`);
  const near = deps.embedder === undefined ? [] : await byMeaning(deps, accountId, query, topK);
  // With enough neighbours the words need not be asked: that query reads up to 500 chunks.
  const worded = near.length >= topK ? [] : await byWords(deps, accountId, query);
  const candidates = [...near, ...worded].filter(({ chunk, score }) => score >= (query.threshold ?? 0) && hasTags(chunk, query.tags));
  return currentHits(
    deps,
    accountId,
    candidates.sort((a, b) => b.score - a.score || a.chunk.n - b.chunk.n),
    topK,
  );
}

async function byMeaning(deps: KnowledgeBaseDeps, accountId: string, query: KbQuery, topK: number): Promise<Candidate[]> {
  const { embedder } = deps;
  if (embedder === undefined) return [];
  const [queryVector] = (await embedder.embed([query.text])).vectors;
  if (queryVector === undefined) return [];
  const base = filtered(deps, accountId, query);
  const found =
    query.documentIds === undefined
      ? await base
          .findNearest({
            vectorField: 'embedding',
            queryVector: [...queryVector],
            limit: Math.min(topK * OVERFETCH, MAX_NEIGHBOURS),
            distanceMeasure: 'COSINE',
            distanceResultField: 'distance',
          })
          .get()
      : // A few named documents are compared here: that needs no index of its own, and no neighbour elsewhere crowds them out.
        await base
          .where('docId', 'in', [...query.documentIds])
          .limit(MAX_NEIGHBOURS)
          .get();
  return found.docs.flatMap((doc) => {
    const chunk = kbChunkSchema.parse(doc.data());
    // Vectors of different models say nothing about each other.
    if (chunk.embeddingModel !== embedder.model) return [];
    const distance: unknown = doc.get('distance');
    const score = typeof distance === 'number' ? 1 - distance : cosine(queryVector, vectorOf(doc));
    return [{ chunk, score: Math.max(score, 0), method: 'vector' as const }];
  });
}

/** Chunks that share words with the question and have no vector of the configured model. */
async function byWords(deps: KnowledgeBaseDeps, accountId: string, query: KbQuery): Promise<Candidate[]> {
  const terms = distinctWords(query.text, MAX_QUERY_TERMS);
  if (terms.length === 0) return [];
  const found = await filtered(deps, accountId, query).where('terms', 'array-contains-any', terms).limit(MAX_KEYWORD_CANDIDATES).get();
  const wanted = query.documentIds === undefined ? undefined : new Set(query.documentIds);
  const chunks = found.docs
    .map((doc) => kbChunkSchema.parse(doc.data()))
    .filter((chunk) => (deps.embedder === undefined || chunk.embeddingModel !== deps.embedder.model) && (wanted?.has(chunk.docId) ?? true));
  const scores = bm25(
    query.text,
    chunks.map(({ title, heading, text }) => `${title}\n${heading}\n${text}`),
  );
  return chunks.map((chunk, index) => ({ chunk, score: scores[index] ?? 0, method: 'keyword' as const }));
}

function filtered(deps: KnowledgeBaseDeps, accountId: string, query: KbQuery): Query {
  let find: Query = deps.db.collection(kbPaths.chunks(accountId));
  if (query.collection !== undefined) find = find.where('collection', '==', query.collection);
  if (query.department !== undefined) find = find.where('department', '==', query.department);
  return find;
}

function hasTags(chunk: KbChunk, tags: readonly string[] | undefined): boolean {
  return tags === undefined || tags.every((tag) => chunk.tags.includes(tag));
}

/** Keeps what belongs to the current version of an existing document, and says which version that is. */
async function currentHits(deps: KnowledgeBaseDeps, accountId: string, candidates: readonly Candidate[], topK: number): Promise<KbHit[]> {
  const ids = [...new Set(candidates.map(({ chunk }) => chunk.docId))];
  if (ids.length === 0) return [];
  const snapshots = await deps.db.getAll(...ids.map((id) => deps.db.doc(kbPaths.document(accountId, id))), {
    fieldMask: ['version', 'generation'],
  });
  const current = new Map(
    snapshots
      .filter((doc) => doc.exists)
      .map((doc) => [doc.id, kbRecordSchema.pick({ version: true, generation: true }).parse(doc.data())]),
  );
  return candidates
    .flatMap(({ chunk, score, method }): KbHit[] => {
      const document = current.get(chunk.docId);
      if (document?.generation !== chunk.generation) return [];
      const { docId: documentId, title, collection, heading, n, text } = chunk;
      return [{ documentId, version: document.version, title, collection, heading, n, text, score, method }];
    })
    .slice(0, topK);
}

function vectorOf(doc: QueryDocumentSnapshot): readonly number[] {
  const value: unknown = doc.get('embedding');
  if (typeof value !== 'object' || value === null || !('toArray' in value) || typeof value.toArray !== 'function') return [];
  return value.toArray() as number[];
}

function cosine(a: readonly number[], b: readonly number[]): number {
  let dot = 0;
  let lengthA = 0;
  let lengthB = 0;
  for (const [index, value] of a.entries()) {
    const other = b[index] ?? 0;
    dot += value * other;
    lengthA += value * value;
    lengthB += other * other;
  }
  return lengthA === 0 || lengthB === 0 ? 0 : dot / Math.sqrt(lengthA * lengthB);
}
