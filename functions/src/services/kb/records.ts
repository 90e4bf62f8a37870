import { z } from 'zod';
import type { KbDocument } from './knowledge-base.ts';

/** `accounts/{a}/kb/{docId}`. Times in ms. */
export const kbRecordSchema = z.strictObject({
  v: z.literal(1),
  title: z.string(),
  collection: z.string(),
  department: z.string().nullable(),
  tags: z.array(z.string()),
  version: z.number().int().positive(),
  digest: z.string(),
  /** Names the set of chunks that belongs to this version; all others are leftovers. */
  generation: z.string(),
  markdown: z.string(),
  size: z.number().int(),
  chunkCount: z.number().int(),
  sourceRunId: z.string().nullable(),
  embeddingModel: z.string().nullable(),
  createdAt: z.number(),
  updatedAt: z.number(),
});
export type KbRecord = z.infer<typeof kbRecordSchema>;

/** `accounts/{a}/kbChunks/{generation}-{n}`, without its vector field `embedding`. */
export const kbChunkSchema = z.object({
  v: z.literal(1),
  docId: z.string(),
  generation: z.string(),
  n: z.number().int(),
  title: z.string(),
  collection: z.string(),
  department: z.string().nullable(),
  tags: z.array(z.string()),
  heading: z.string(),
  text: z.string(),
  terms: z.array(z.string()),
  embeddingModel: z.string().nullable(),
  createdAt: z.number(),
});
export type KbChunk = z.infer<typeof kbChunkSchema>;

export const kbPaths = {
  documents: (accountId: string): string => `accounts/${accountId}/kb`,
  document: (accountId: string, id: string): string => `accounts/${accountId}/kb/${id}`,
  /**
   * Flat below the account rather than below each document: a search covers the account by its path. A collection-group
   * query would rest on a filter, and a forgotten filter would show one customer another's texts.
   */
  chunks: (accountId: string): string => `accounts/${accountId}/kbChunks`,
} as const;

export function toKbDocument(id: string, record: KbRecord): KbDocument {
  const { title, collection, tags, version, digest, chunkCount, size, createdAt, updatedAt } = record;
  return {
    id,
    title,
    collection,
    tags,
    version,
    digest,
    chunkCount,
    size,
    createdAt,
    updatedAt,
    ...(record.department === null ? {} : { department: record.department }),
    ...(record.sourceRunId === null ? {} : { sourceRunId: record.sourceRunId }),
    ...(record.embeddingModel === null ? {} : { embeddingModel: record.embeddingModel }),
  };
}
