/** The knowledge base keeps its shapes in the functions' services; this is what the app needs of them. */
import { z } from 'zod';
import type { Json } from '@engine/json.ts';

export const knowledgeShape = z.looseObject({
  title: z.string(),
  collection: z.string(),
  version: z.number(),
  markdown: z.string(),
  updatedAt: z.number(),
  tags: z.array(z.string()).optional(),
});
export type KnowledgeRecord = z.infer<typeof knowledgeShape>;

/** Undefined while the text is no JSON object. */
export function fromText(text: string): { [key: string]: Json } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as { [key: string]: Json }) : undefined;
  } catch {
    return undefined;
  }
}
