import { z } from 'zod';
import { KilnError } from '../model/errors.ts';
import { idPattern } from '../model/paths.ts';
import type { EffectStepType } from './step-type.ts';

const schema = z.strictObject({
  type: z.literal('writeToKb'),
  collection: z.string().min(1).max(100),
  title: z.string().min(1).max(300),
  markdown: z.string().min(1),
  department: z.string().max(100).optional(),
  tags: z.array(z.string().max(100)).max(50).optional(),
  /** Writing under an id again makes a new version. Without it, collection and title name the document. */
  documentId: z.string().regex(idPattern, 'letters, digits, _ and -, at most 128').optional(),
});

export const writeToKb: EffectStepType<z.infer<typeof schema>> = {
  type: 'writeToKb',
  title: 'Write to knowledge base',
  description: 'Stores a text in the knowledge base, where later runs find it. The same text again is no new version.',
  kind: 'effect',
  schema,
  idempotent: true,
  outputSchema: () => ({
    type: 'object',
    properties: {
      documentId: { type: 'string' },
      version: { type: 'integer' },
      changed: { type: 'boolean' },
      chunkCount: { type: 'integer' },
    },
    additionalProperties: false,
  }),
  preflight: (_config, { services, place }) =>
    services.kb === undefined ? [{ path: place.path, code: 'kb.missing', message: 'this deployment has no knowledge base' }] : [],
  async perform({ ref, config, services }) {
    if (services.kb === undefined) throw new KilnError('kb.missing', 'this deployment has no knowledge base');
    const { collection, title, markdown, department, tags, documentId } = config;
    const added = await services.kb.add(ref.accountId, {
      collection,
      title,
      markdown,
      sourceRunId: ref.runId,
      ...(documentId === undefined ? {} : { id: documentId }),
      ...(department === undefined ? {} : { department }),
      ...(tags === undefined ? {} : { tags }),
    });
    const { id, version, changed, chunkCount, usage } = added;
    return {
      output: { documentId: id, version, changed, chunkCount },
      ...(usage === undefined ? {} : { details: { embedding: { ...usage } } }),
    };
  },
};
