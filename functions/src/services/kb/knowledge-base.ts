import type { Usage } from '../prices.ts';

export interface KbInput {
  /** Adding under an id again makes a new version. Absent: derived from collection and title, so the same call names the same document. */
  readonly id?: string;
  readonly title: string;
  readonly markdown: string;
  readonly collection: string;
  readonly department?: string;
  readonly tags?: readonly string[];
  readonly sourceRunId?: string;
}

export interface KbDocument {
  readonly id: string;
  readonly title: string;
  readonly collection: string;
  readonly department?: string;
  readonly tags: readonly string[];
  /** Counts up with each change of the content. */
  readonly version: number;
  /** Of title, text and labels. */
  readonly digest: string;
  readonly sourceRunId?: string;
  readonly chunkCount: number;
  readonly size: number;
  /** The model that embedded it; absent when it can only be found by words. */
  readonly embeddingModel?: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface KbAdded {
  readonly id: string;
  readonly version: number;
  /** False when the document already had exactly this content. */
  readonly changed: boolean;
  readonly chunkCount: number;
  /** What embedding it cost, if it was embedded. */
  readonly usage?: Usage;
}

export interface KbQuery {
  readonly text: string;
  readonly topK?: number;
  /** Hits that score less are left out; 0 to 1. */
  readonly threshold?: number;
  readonly collection?: string;
  readonly department?: string;
  /** Every one of them. */
  readonly tags?: readonly string[];
  /** Only these documents; at most 30. */
  readonly documentIds?: readonly string[];
}

/** A found passage, with what a citation needs. */
export interface KbHit {
  readonly documentId: string;
  readonly version: number;
  readonly title: string;
  readonly collection: string;
  readonly heading: string;
  readonly n: number;
  readonly text: string;
  /** 0 to 1: cosine similarity, or the share of the best possible word match. */
  readonly score: number;
  readonly method: 'vector' | 'keyword';
}

export interface KbListQuery {
  readonly collection?: string;
  readonly department?: string;
  readonly limit: number;
  /** `next` of the page before. */
  readonly after?: string;
}

export interface KnowledgeBase {
  /** Idempotent: the same content under the same id is one version. Errors: `request.invalid`, `kb.too_large`, `kb.conflict`, those of embedding. */
  add(accountId: string, input: KbInput): Promise<KbAdded>;
  get(accountId: string, id: string): Promise<(KbDocument & { readonly markdown: string }) | undefined>;
  search(accountId: string, query: KbQuery): Promise<readonly KbHit[]>;
  /** Last changed first. */
  list(accountId: string, query: KbListQuery): Promise<{ readonly documents: readonly KbDocument[]; readonly next?: string }>;
  /** False when there was none. */
  delete(accountId: string, id: string): Promise<boolean>;
}

/** Turns texts into vectors of one model. */
export interface Embedder {
  readonly model: string;
  embed(texts: readonly string[]): Promise<{ readonly vectors: readonly (readonly number[])[]; readonly usage?: Usage }>;
}
