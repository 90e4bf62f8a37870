import { KilnError } from '../../model/errors.ts';
import type { LlmClient } from '../llm.ts';
import type { Embedder } from './knowledge-base.ts';

/** Firestore stores vectors of at most this many numbers. */
const MAX_DIMENSIONS = 2_048;
const TIMEOUT_MS = 60_000;

/**
 * An embedder over the LLM service. `dimensions` must be that of the vector indexes in firestore.indexes.json; models that
 * cannot shorten their vectors are asked for none.
 */
export function llmEmbedder(llm: LlmClient, model: string, dimensions?: number): Embedder {
  return {
    model,
    async embed(texts) {
      const { vectors, usage } = await llm.embed({
        model,
        texts,
        timeoutMs: TIMEOUT_MS,
        ...(dimensions === undefined ? {} : { dimensions }),
      });
      const wrong = vectors.find((vector) => vector.length === 0 || vector.length > MAX_DIMENSIONS);
      if (wrong !== undefined)
        throw new KilnError(
          'request.invalid',
          `The embedding model ${model} yields ${wrong.length} dimensions; Firestore takes 1 to ${MAX_DIMENSIONS}. Use another model or set its dimensions.`,
        );
      return { vectors, ...(usage === undefined ? {} : { usage }) };
    },
  };
}
