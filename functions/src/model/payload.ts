import { z } from 'zod';

/**
 * A JSON value as it is stored: canonical JSON text, inline when small, else split over `payloads/` documents.
 * `digest` is the SHA-256 of the text in hex, `size` its UTF-8 bytes.
 */
export const payloadSchema = z.strictObject({
  size: z.number().int().nonnegative(),
  digest: z.string().length(64),
  json: z.string().optional(),
  /** Number of `payloads/` documents and their common id prefix. */
  parts: z.number().int().positive().optional(),
  partsId: z.string().optional(),
  /** Its parts are for operators and named approvers. */
  sensitive: z.literal(true).optional(),
});
export type Payload = z.infer<typeof payloadSchema>;
