import { z } from 'zod';
import { runLink, stepNoticeWrites } from '../ledger/notices.ts';
import { KilnError } from '../model/errors.ts';
import type { MemberRecord } from '../model/member.ts';
import type { EffectStepType } from './step-type.ts';

const schema = z.strictObject({
  type: z.literal('notify'),
  /** Members, by uid or e-mail address. Others are not written to: a run must not become a way out for data. */
  to: z.union([z.string().min(1), z.array(z.string().min(1)).min(1).max(100)]),
  title: z.string().min(1).max(300),
  message: z.string().max(10_000).optional(),
  /** Whether a mail goes out beside the notification in the app. Default true. */
  mail: z.boolean().optional(),
});

export const notify: EffectStepType<z.infer<typeof schema>> = {
  type: 'notify',
  title: 'Notify',
  description: 'Tells named members something, in the app and by mail.',
  kind: 'effect',
  schema,
  // What it does is committed with its result.
  idempotent: true,
  outputSchema: () => ({ type: 'object', properties: { told: { type: 'array', items: { type: 'string' } } }, additionalProperties: false }),
  async perform({ ref, config, services, now }) {
    const everybody = (await services.members?.list(ref.accountId)) ?? [];
    const wanted = [...new Set(typeof config.to === 'string' ? [config.to] : config.to)];
    const unknown = wanted.filter((name) => memberNamed(everybody, name) === undefined);
    if (unknown.length > 0) throw new KilnError('notify.nobody', `no active member of this account: ${unknown.join(', ')}`);
    const people = new Map(wanted.flatMap((name) => memberNamed(everybody, name) ?? []).map((member) => [member.uid, member]));
    const notice = {
      kind: 'notify',
      title: config.title,
      body: config.message ?? config.title,
      link: runLink(ref.accountId, ref.runId),
      mail: config.mail ?? true,
    } as const;
    return { output: { told: [...people.keys()] }, writes: stepNoticeWrites(ref, [...people.values()], notice, now) };
  },
};

function memberNamed(members: readonly MemberRecord[], name: string): MemberRecord | undefined {
  return members.find((member) => member.uid === name || member.email.toLowerCase() === name.toLowerCase());
}
