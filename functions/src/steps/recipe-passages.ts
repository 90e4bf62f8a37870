import { z } from 'zod';
import { canonicalJson, parseJson } from '../engine/json.ts';
import { KilnError } from '../model/errors.ts';
import { citationSchema } from '../model/recipe.ts';
import type { RunContext } from '../model/recipe.ts';
import type { KbHit, KnowledgeBase } from '../services/kb/knowledge-base.ts';
import type { Passage } from './recipe-messages.ts';
import type { PerformContext } from './step-type.ts';

export const retrieveSchema = z.strictObject({
  /** What is looked for; the prompt itself when it is left out. */
  query: z.string().min(1).max(4_000).optional(),
  topK: z.number().int().min(1).max(50).optional(),
  /** Passages that fit less are left out; 0 to 1. */
  threshold: z.number().min(0).max(1).optional(),
  collection: z.string().max(100).optional(),
  department: z.string().max(100).optional(),
  tags: z.array(z.string().max(100)).max(20).optional(),
});
export type Retrieve = z.infer<typeof retrieveSchema>;

/** Whole documents are used as far as they fit. */
const CONTEXT_MAX_CHARS = 100_000;
const QUERY_MAX_CHARS = 4_000;
/** A search can name this many documents. */
const SEARCHED_DOCUMENTS_MAX = 30;

const keptSchema = z.array(z.strictObject({ citation: citationSchema, text: z.string() }));

interface Wanted {
  readonly retrieve: Retrieve | undefined;
  /** Whether the workflow's documents are used. */
  readonly useContext: boolean;
  readonly context: RunContext | undefined;
  readonly prompt: string;
}

/**
 * What the model is told beside the prompt: the passages that fit best, or the workflow's documents as a whole. What was found is
 * kept with the step, since a retry must ask the very same question.
 */
export async function passagesFor(step: PerformContext<object>, wanted: Wanted): Promise<readonly Passage[]> {
  const documents = wanted.useContext ? (wanted.context?.documents ?? []) : [];
  if (wanted.retrieve === undefined && documents.length === 0) return [];
  const kept = await step.answers.findContext();
  if (kept !== undefined) return keptSchema.parse(parseJson(kept));
  const { kb } = step.services;
  if (kb === undefined) throw new KilnError('kb.missing', 'this deployment has no knowledge base');
  const found = await (wanted.retrieve === undefined
    ? wholeDocuments(kb, step.ref.accountId, documents)
    : bestPassages(kb, step.ref.accountId, wanted.retrieve, documents, wanted.prompt));
  await step.answers.keepContext(canonicalJson(found));
  return found;
}

async function bestPassages(
  kb: KnowledgeBase,
  accountId: string,
  { query, topK, threshold, collection, department, tags }: Retrieve,
  documents: RunContext['documents'],
  prompt: string,
): Promise<readonly Passage[]> {
  const ids = documents.slice(0, SEARCHED_DOCUMENTS_MAX).map(({ documentId }) => documentId);
  const hits = await kb.search(accountId, {
    text: (query ?? prompt).slice(0, QUERY_MAX_CHARS),
    ...(topK === undefined ? {} : { topK }),
    ...(threshold === undefined ? {} : { threshold }),
    ...(collection === undefined ? {} : { collection }),
    ...(department === undefined ? {} : { department }),
    ...(tags === undefined ? {} : { tags }),
    ...(ids.length === 0 ? {} : { documentIds: ids }),
  });
  return hits.map(passageOf);
}

function passageOf({ documentId, version, title, collection, heading, n, score, method, text }: KbHit): Passage {
  return { citation: { documentId, version, title, collection, heading, n, score, method }, text };
}

async function wholeDocuments(kb: KnowledgeBase, accountId: string, documents: RunContext['documents']): Promise<readonly Passage[]> {
  const passages: Passage[] = [];
  let room = CONTEXT_MAX_CHARS;
  for (const { documentId } of documents) {
    const document = await kb.get(accountId, documentId);
    // Deleted since pre-flight, or no room left for it.
    if (document === undefined || document.markdown.length > room) continue;
    room -= document.markdown.length;
    // The version that was read is the one that is cited, even when the document was changed since pre-flight.
    const { id, version, title, collection } = document;
    passages.push({ citation: { documentId: id, version, title, collection }, text: document.markdown });
  }
  return passages;
}
