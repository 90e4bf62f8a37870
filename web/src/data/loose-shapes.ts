/** Records that this app only lists and edits as JSON: it needs to know little of them. */
import { z } from 'zod';
import type { Json } from '@engine/json.ts';

export const scheduleShape = z.looseObject({
  workflowId: z.string().optional(),
  cron: z.string().optional(),
  zone: z.string().optional(),
  nextAt: z.number().optional(),
});

export const recipeShape = z.looseObject({
  name: z.string().optional(),
  title: z.string().optional(),
  description: z.string().optional(),
  latest: z.number().optional(),
  updatedAt: z.number().optional(),
  json: z.string().optional(),
});

export const knowledgeShape = z.looseObject({
  title: z.string(),
  collection: z.string(),
  version: z.number(),
  markdown: z.string(),
  updatedAt: z.number(),
  tags: z.array(z.string()).optional(),
});
export type KnowledgeRecord = z.infer<typeof knowledgeShape>;

const bookkeeping = new Set(['v', 'accountId', 'due', 'expiresAt']);

/** What a person edits of a record, as indented JSON. */
export function asText(record: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(Object.fromEntries(Object.entries(record).filter(([name]) => !bookkeeping.has(name))), null, 2);
}

/** Undefined while the text is no JSON object. */
export function fromText(text: string): { [key: string]: Json } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as { [key: string]: Json }) : undefined;
  } catch {
    return undefined;
  }
}
