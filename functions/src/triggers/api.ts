import { HttpsError } from 'firebase-functions/v2/https';
import type { CallableRequest } from 'firebase-functions/v2/https';
import { z } from 'zod';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import { memberRecordSchema } from '../model/member.ts';
import type { MemberRecord, Role } from '../model/member.ts';
import { idPattern, paths } from '../model/paths.ts';
import { StoredByNewerCode } from '../model/upgrades.ts';
import type { Runtime } from '../runner/runtime.ts';
import { operations } from './operations.ts';

/** Who calls: a signed-in person who is an active member of the account named in the call. */
export interface Actor {
  readonly uid: string;
  readonly accountId: string;
  readonly member: MemberRecord;
}

export interface Operation {
  /** Any of these roles allows it; admins may do everything. */
  readonly roles: readonly Role[];
  run(runtime: Runtime, actor: Actor, data: unknown): Promise<unknown>;
}

const envelopeSchema = z.looseObject({ op: z.string().min(1).max(64), accountId: z.string().regex(idPattern) });

/** The one callable: `{op, accountId, …}`. Membership is read from its document, never from the token's claims. */
export async function handleCall(runtime: Runtime, request: CallableRequest): Promise<unknown> {
  try {
    const uid = request.auth?.uid;
    if (uid === undefined) throw new KilnError('auth.required', 'sign in first');
    const envelope = envelopeSchema.safeParse(request.data);
    if (!envelope.success) throw new KilnError('request.invalid', z.prettifyError(envelope.error));
    const { op, accountId, ...data } = envelope.data;
    const operation = Object.hasOwn(operations, op) ? operations[op] : undefined;
    if (operation === undefined)
      throw new KilnError('request.invalid', `unknown op "${op}"; known: ${Object.keys(operations).sort().join(', ')}`);
    const actor = await actorOf(runtime, accountId, uid);
    const allowed = actor.member.roles.includes('admin') || operation.roles.some((role) => actor.member.roles.includes(role));
    if (!allowed) throw new KilnError('auth.forbidden', `"${op}" needs one of the roles ${operation.roles.join(', ')}`);
    return await operation.run(runtime, actor, data);
  } catch (error) {
    throw asHttpsError(error);
  }
}

async function actorOf(runtime: Runtime, accountId: string, uid: string): Promise<Actor> {
  const { docs } = await runtime.store.get([paths.member(accountId, uid)]);
  const member = docs[0] === undefined ? undefined : memberRecordSchema.parse(docs[0].data);
  // The same answer for a foreign and for a missing account.
  if (member?.active !== true) throw new KilnError('auth.forbidden', 'you are no active member of this account');
  return { uid, accountId, member };
}

function asHttpsError(error: unknown): HttpsError {
  if (error instanceof z.ZodError) return new HttpsError('invalid-argument', z.prettifyError(error), { code: 'request.invalid' });
  if (error instanceof StoredByNewerCode) return new HttpsError('failed-precondition', error.message, { code: 'stored.newer_version' });
  if (!(error instanceof KilnError)) return new HttpsError('internal', 'an unexpected fault; see the logs');
  const { code, message, data } = toErrorRecord(error);
  const status =
    code === 'auth.required'
      ? 'unauthenticated'
      : code === 'auth.forbidden'
        ? 'permission-denied'
        : code.endsWith('not_found')
          ? 'not-found'
          : 'invalid-argument';
  return new HttpsError(status, message, { code, ...(data === undefined ? {} : { data }) });
}
