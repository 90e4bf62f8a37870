import { z } from 'zod';
import { runLink, stepNoticeWrites } from '../ledger/notices.ts';
import { KilnError } from '../model/errors.ts';
import type { EffectStepType } from './step-type.ts';

const schema = z.strictObject({
  type: z.literal('handoff'),
  /** The department that takes over. */
  department: z.string().min(1).max(100),
  title: z.string().min(1).max(300),
  message: z.string().max(10_000).optional(),
});

export const handoff: EffectStepType<z.infer<typeof schema>> = {
  type: 'handoff',
  title: 'Handoff',
  description: 'Tells the people of a department, in the app and by mail, that they take over. Does not wait for them.',
  kind: 'effect',
  schema,
  // What it does is committed with its result.
  idempotent: true,
  outputSchema: () => ({
    type: 'object',
    properties: { department: { type: 'string' }, told: { type: 'array', items: { type: 'string' } } },
    additionalProperties: false,
  }),
  async perform({ ref, config, services, now }) {
    const everybody = (await services.members?.list(ref.accountId)) ?? [];
    const people = everybody.filter((member) => member.departments.includes(config.department));
    if (people.length === 0) {
      const known = [...new Set(everybody.flatMap((member) => member.departments))].sort();
      throw new KilnError('notify.nobody', `no active member is in "${config.department}"; departments: ${known.join(', ') || 'none'}`);
    }
    const notice = {
      kind: 'handoff',
      title: config.title,
      body: config.message ?? config.title,
      link: runLink(ref.accountId, ref.runId),
      mail: true,
    } as const;
    return {
      output: { department: config.department, told: people.map((member) => member.uid) },
      writes: stepNoticeWrites(ref, people, notice, now),
    };
  },
};
