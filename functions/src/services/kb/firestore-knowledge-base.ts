import type { DocumentReference, Firestore, Query } from '@google-cloud/firestore';
import { byteLength, canonicalJson, digest } from '../../engine/json.ts';
import { KilnError } from '../../model/errors.ts';
import { idPattern } from '../../model/paths.ts';
import { type Chunk, chunkMarkdown, searchableText } from './chunker.ts';
import { distinctWords, MAX_STORED_TERMS } from './keywords.ts';
import type { Embedder, KbAdded, KbInput, KbListQuery, KnowledgeBase } from './knowledge-base.ts';
import { type KbChunk, kbPaths, type KbRecord, kbRecordSchema, toKbDocument } from './records.ts';
import { searchChunks } from './search.ts';

export interface KnowledgeBaseDeps {
  readonly db: Firestore;
  /** Absent: documents are found by their words only. */
  readonly embedder?: Embedder | undefined;
  readonly now: () => number;
  readonly newId: () => string;
}

const MAX_MARKDOWN_BYTES = 400 * 1024;
const CHUNKS_PER_COMMIT = 100;
const ADD_TRIES = 12;
/** Chunks of an addition that never finished are swept once no addition can still be at work on them. */
const LEFTOVER_MS = 60 * 60 * 1000;

/**
 * Documents and their chunks in Firestore. An addition writes a set of chunks under a fresh generation, then one
 * transaction points the document to it: readers see the old version or the new one, never a mixture, and a
 * crash in between leaves only chunks that nobody points to.
 */
export function createKnowledgeBase(deps: KnowledgeBaseDeps): KnowledgeBase {
  const { db } = deps;
  return {
    add: (accountId, input) => addDocument(deps, accountId, input),
    async get(accountId, id) {
      const record = await readRecord(db.doc(kbPaths.document(accountId, checkedId(id))));
      return record === undefined ? undefined : { ...toKbDocument(id, record), markdown: record.markdown };
    },
    search: (accountId, query) => searchChunks(deps, accountId, query),
    list: (accountId, query) => listDocuments(db, accountId, query),
    async delete(accountId, id) {
      const ref = db.doc(kbPaths.document(accountId, checkedId(id)));
      const record = await readRecord(ref);
      await ref.delete();
      if (record !== undefined) await deleteAll(db, generationOf(db, accountId, record.generation));
      await sweepLeftovers(deps, accountId, id);
      return record !== undefined;
    },
  };
}

async function addDocument(deps: KnowledgeBaseDeps, accountId: string, input: KbInput): Promise<KbAdded> {
  const id = checkedId(input.id ?? derivedId(input));
  const size = byteLength(input.markdown);
  if (size > MAX_MARKDOWN_BYTES)
    throw new KilnError(
      'kb.too_large',
      `The document ${JSON.stringify(input.title)} has ${size} bytes of Markdown; the limit is ${MAX_MARKDOWN_BYTES}.`,
    );
  if (input.title === '' || input.collection === '') throw new KilnError('request.invalid', 'A document needs a title and a collection.');
  const ref = deps.db.doc(kbPaths.document(accountId, id));
  const contentDigest = digestOf(input);
  const model = deps.embedder?.model ?? null;
  const existing = await readRecord(ref);
  if (existing !== undefined && isSame(existing, contentDigest, model))
    return { id, version: existing.version, changed: false, chunkCount: existing.chunkCount };

  const chunks = chunkMarkdown(input.markdown);
  const embedded =
    deps.embedder === undefined || chunks.length === 0
      ? undefined
      : await deps.embedder.embed(chunks.map((chunk) => searchableText(input.title, chunk)));
  const generation = deps.newId();
  await writeChunks(deps, accountId, id, input, chunks, embedded?.vectors, generation);

  const record = recordOf(deps, input, { digest: contentDigest, generation, size, chunkCount: chunks.length });
  const outcome = await publish(deps.db, ref, record);
  if (!outcome.published) await deleteAll(deps.db, generationOf(deps.db, accountId, generation));
  if (outcome.replaced !== undefined) {
    await deleteAll(deps.db, generationOf(deps.db, accountId, outcome.replaced));
    await sweepLeftovers(deps, accountId, id);
  }
  return {
    id,
    version: outcome.version,
    changed: outcome.published && outcome.contentChanged,
    chunkCount: chunks.length,
    ...(embedded?.usage === undefined ? {} : { usage: embedded.usage }),
  };
}

interface Outcome {
  readonly version: number;
  /** False when somebody else has published the same content meanwhile; ours is not needed. */
  readonly published: boolean;
  readonly contentChanged: boolean;
  readonly replaced: string | undefined;
}

/** Makes `record` the document's current version. */
async function publish(db: Firestore, ref: DocumentReference, record: KbRecord): Promise<Outcome> {
  try {
    return await db.runTransaction(
      async (transaction): Promise<Outcome> => {
        const snapshot = await transaction.get(ref);
        const current = snapshot.exists ? kbRecordSchema.parse(snapshot.data()) : undefined;
        if (current !== undefined && isSame(current, record.digest, record.embeddingModel))
          return { version: current.version, published: false, contentChanged: false, replaced: undefined };
        // The same text embedded by another model is no new version of it.
        const contentChanged = current?.digest !== record.digest;
        const version = current === undefined ? 1 : contentChanged ? current.version + 1 : current.version;
        transaction.set(ref, { ...record, version, createdAt: current?.createdAt ?? record.createdAt });
        return { version, published: true, contentChanged, replaced: current?.generation };
      },
      { maxAttempts: ADD_TRIES },
    );
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 10 /* ABORTED */)
      throw new KilnError('kb.conflict', `The document ${ref.id} was changed by others at the same time.`, { cause: error });
    throw error;
  }
}

async function writeChunks(
  deps: KnowledgeBaseDeps,
  accountId: string,
  docId: string,
  input: KbInput,
  chunks: readonly Chunk[],
  vectors: readonly (readonly number[])[] | undefined,
  generation: string,
): Promise<void> {
  const { FieldValue } = await import('@google-cloud/firestore');
  const collection = deps.db.collection(kbPaths.chunks(accountId));
  for (let start = 0; start < chunks.length; start += CHUNKS_PER_COMMIT) {
    const batch = deps.db.batch();
    for (const chunk of chunks.slice(start, start + CHUNKS_PER_COMMIT)) {
      const vector = vectors?.[chunk.n];
      const record: KbChunk = {
        v: 1,
        docId,
        generation,
        n: chunk.n,
        title: input.title,
        collection: input.collection,
        department: input.department ?? null,
        tags: [...(input.tags ?? [])],
        heading: chunk.heading,
        text: chunk.text,
        terms: distinctWords(searchableText(input.title, chunk), MAX_STORED_TERMS),
        embeddingModel: vector === undefined ? null : (deps.embedder?.model ?? null),
        createdAt: deps.now(),
      };
      // The vector has to be a field at the top: the emulator searches no other.
      batch.set(
        collection.doc(`${generation}-${chunk.n}`),
        vector === undefined ? record : { ...record, embedding: FieldValue.vector([...vector]) },
      );
    }
    await batch.commit();
  }
}

function generationOf(db: Firestore, accountId: string, generation: string): Query {
  return db.collection(kbPaths.chunks(accountId)).where('generation', '==', generation);
}

/** Deletes what additions that never finished left of the document. Safe to stop and to repeat: nobody reads these chunks. */
async function sweepLeftovers(deps: KnowledgeBaseDeps, accountId: string, docId: string): Promise<void> {
  const current = (await readRecord(deps.db.doc(kbPaths.document(accountId, docId))))?.generation;
  const before = deps.now() - LEFTOVER_MS;
  const all = deps.db.collection(kbPaths.chunks(accountId)).where('docId', '==', docId).select('generation', 'createdAt');
  await deleteAll(deps.db, all, (data) => data['generation'] !== current && Number(data['createdAt']) < before);
}

async function deleteAll(db: Firestore, query: Query, unwanted: (data: Record<string, unknown>) => boolean = () => true): Promise<void> {
  const found = (await query.get()).docs.filter((doc) => unwanted(doc.data()));
  for (let start = 0; start < found.length; start += 400) {
    const batch = db.batch();
    for (const doc of found.slice(start, start + 400)) batch.delete(doc.ref);
    await batch.commit();
  }
}

async function listDocuments(db: Firestore, accountId: string, query: KbListQuery): ReturnType<KnowledgeBase['list']> {
  let find: Query = db.collection(kbPaths.documents(accountId));
  if (query.collection !== undefined) find = find.where('collection', '==', query.collection);
  if (query.department !== undefined) find = find.where('department', '==', query.department);
  find = find.orderBy('updatedAt', 'desc');
  const limit = Math.min(Math.max(query.limit, 1), 200);
  if (query.after !== undefined) {
    const after = await db.doc(kbPaths.document(accountId, checkedId(query.after))).get();
    // A document that went away in between gives no place to go on from: begin again.
    if (after.exists) find = find.startAfter(after);
  }
  const found = await find
    .select(...listedFields)
    .limit(limit + 1)
    .get();
  const documents = found.docs.slice(0, limit).map((doc) => toKbDocument(doc.id, kbRecordSchema.parse({ ...doc.data(), markdown: '' })));
  const last = documents.at(-1);
  return found.docs.length > limit && last !== undefined ? { documents, next: last.id } : { documents };
}

const listedFields = Object.keys(kbRecordSchema.shape).filter((field) => field !== 'markdown');

function recordOf(
  deps: KnowledgeBaseDeps,
  input: KbInput,
  facts: Pick<KbRecord, 'digest' | 'generation' | 'size' | 'chunkCount'>,
): KbRecord {
  const now = deps.now();
  return {
    v: 1,
    title: input.title,
    collection: input.collection,
    department: input.department ?? null,
    tags: [...(input.tags ?? [])],
    version: 1,
    markdown: input.markdown,
    sourceRunId: input.sourceRunId ?? null,
    embeddingModel: deps.embedder?.model ?? null,
    createdAt: now,
    updatedAt: now,
    ...facts,
  };
}

async function readRecord(ref: DocumentReference): Promise<KbRecord | undefined> {
  const snapshot = await ref.get();
  return snapshot.exists ? kbRecordSchema.parse(snapshot.data()) : undefined;
}

function isSame(record: KbRecord, contentDigest: string, model: string | null): boolean {
  return record.digest === contentDigest && record.embeddingModel === model;
}

function digestOf({ title, markdown, collection, department, tags }: KbInput): string {
  return digest(canonicalJson({ title, markdown, collection, department: department ?? null, tags: tags ?? [] }));
}

function derivedId({ collection, title }: KbInput): string {
  return digest(canonicalJson([collection, title])).slice(0, 24);
}

function checkedId(id: string): string {
  if (!idPattern.test(id))
    throw new KilnError('request.invalid', `${JSON.stringify(id)} is not a document id: letters, digits, _ and -, at most 128.`);
  return id;
}
