import { z } from 'zod';
import { templatesIn } from '../engine/templates.ts';
import { parseDuration } from '../engine/duration.ts';
import { KilnError } from '../model/errors.ts';
import { hookRecordSchema } from '../model/hook.ts';
import type { HookRecord } from '../model/hook.ts';
import { idPattern, paths } from '../model/paths.ts';
import type { Runtime } from '../runner/runtime.ts';
import { webhookSchemeSchema } from '../services/webhooks/verify.ts';
import { changeAudited } from './history.ts';
import type { Actor } from './history.ts';

export const putHookInput = hookRecordSchema.omit({ v: true, accountId: true }).extend({
  hookId: z.string().regex(idPattern),
  scheme: webhookSchemeSchema,
  active: z.boolean().default(true),
});

/** Adds an address for webhooks or changes it. Its keys are names of secrets; they have to be configured. */
export async function putHook(runtime: Runtime, actor: Actor, given: z.infer<typeof putHookInput>): Promise<HookRecord> {
  const missing = given.keys.filter((name) => runtime.services.secrets?.get(name) === undefined);
  if (missing.length > 0) throw new KilnError('secret.missing', `not configured: ${missing.join(', ')}`);
  if (given.rateLimit !== undefined) parseDuration(given.rateLimit.per, 'rateLimit.per');
  if (given.target.kind === 'start') {
    const { workflowId } = given.target;
    await runtime.definitions.latest(actor.accountId, workflowId);
    const schemes = runtime.code
      .triggers()
      .flatMap((declared) =>
        declared.workflowId === workflowId && declared.trigger.kind === 'webhook' ? [declared.trigger.scheme.kind] : [],
      );
    if (schemes.length > 0 && !schemes.includes(given.scheme.kind))
      throw new KilnError(
        'request.invalid',
        `"${workflowId}" is started by webhooks of ${schemes.join(', ')}, not of ${given.scheme.kind}`,
      );
  }
  const [problem] = given.target.kind === 'event' && given.target.key !== undefined ? templatesIn(given.target.key).problems : [];
  if (problem !== undefined) throw new KilnError(problem.code, problem.message);
  const record = hookRecordSchema.parse({ v: 1, accountId: actor.accountId, ...given });
  const does = given.target.kind === 'start' ? `starts ${given.target.workflowId}` : `becomes the event ${given.target.name}`;
  const text = `${actor.uid} set the webhook "${given.hookId}": what it takes ${does}`;
  const data = { hookId: given.hookId, scheme: given.scheme.kind, keys: given.keys };
  await changeAudited(runtime, actor, { kind: 'hook_set', text, data }, (tx) =>
    tx.write({ op: 'set', path: paths.hook(actor.accountId, given.hookId), data: record }),
  );
  return record;
}

export async function deleteHook(runtime: Runtime, actor: Actor, hookId: string): Promise<void> {
  const text = `${actor.uid} deleted the webhook "${hookId}"`;
  await changeAudited(runtime, actor, { kind: 'hook_deleted', text, data: { hookId } }, (tx) =>
    tx.write({ op: 'delete', path: paths.hook(actor.accountId, hookId) }),
  );
}
