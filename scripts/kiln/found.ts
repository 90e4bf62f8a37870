import { execFileSync } from 'node:child_process';
import type { Command } from 'commander';
import { memberRecordSchema } from '../../functions/src/model/member.ts';
import type { MemberRecord } from '../../functions/src/model/member.ts';
import { idPattern, paths } from '../../functions/src/model/paths.ts';
import { asString, objectsIn } from '../json-objects.ts';
import type { JsonObject } from '../json-objects.ts';
import { googleApis } from './doctor-apis.ts';
import type { GoogleApis } from './doctor-apis.ts';
import { globalsOf, say } from './globals.ts';

interface Founding {
  readonly project: string;
  readonly accountId: string;
  readonly name: string;
  /** Has signed in to the web app once. */
  readonly adminEmail: string;
  readonly now: number;
}

/**
 * Makes an account and its first admin, both or neither. Everybody else is invited by an admin; for the first there is nobody, so
 * this is done by an owner of the project. An account that is there is left as it is.
 */
export async function foundAccount(apis: GoogleApis, { project, accountId, name, adminEmail, now }: Founding): Promise<MemberRecord> {
  if (!idPattern.test(accountId)) throw new Error(`"${accountId}": an account id has letters, digits, "_" and "-".`);
  const found = await apis.post(`https://identitytoolkit.googleapis.com/v1/projects/${project}/accounts:lookup`, { email: [adminEmail] });
  const [user] = objectsIn(found.body['users']);
  const uid = asString(user?.['localId']);
  if (user === undefined || uid === undefined)
    throw new Error(`Nobody has signed in as ${adminEmail} yet: open https://${project}.web.app, sign in, and try again.`);
  // An address that was only claimed would make whoever claimed it an admin.
  if (user['emailVerified'] !== true)
    throw new Error(`The address ${adminEmail} is not proven: sign in with Google or by the link in a mail.`);
  const member = memberRecordSchema.parse({
    v: 1,
    accountId,
    uid,
    email: adminEmail,
    name: asString(user['displayName']) ?? adminEmail,
    roles: ['admin'],
    departments: [],
    active: true,
    updatedAt: now,
    updatedBy: 'founding',
  });
  const database = `projects/${project}/databases/(default)`;
  const create = (path: string, data: JsonObject): JsonObject => ({
    update: { name: `${database}/documents/${path}`, fields: fieldsOf(data) },
    currentDocument: { exists: false },
  });
  const answer = await apis.post(`https://firestore.googleapis.com/v1/${database}/documents:commit`, {
    writes: [create(paths.account(accountId), { v: 1, accountId, name }), create(paths.member(accountId, uid), { ...member })],
  });
  if (answer.status === 409) throw new Error(`The account "${accountId}" is there already; its admins can invite others.`);
  if (answer.status !== 200) throw new Error(`Firestore answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return member;
}

/** The few kinds of values that these documents have, as Firestore's REST API writes them. */
function fieldsOf(data: JsonObject): JsonObject {
  const valueOf = (value: unknown): JsonObject => {
    if (typeof value === 'string') return { stringValue: value };
    if (typeof value === 'boolean') return { booleanValue: value };
    if (typeof value === 'number') return { integerValue: String(value) };
    if (Array.isArray(value)) return { arrayValue: { values: value.map(valueOf) } };
    throw new Error(`a ${typeof value} cannot be written here`);
  };
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, valueOf(value)]));
}

export function addFound(program: Command): void {
  program
    .command('found <account>')
    .description('make an account and its first admin; needs gcloud, signed in as an owner of the project')
    .requiredOption('--admin <email>', 'the first admin, who has signed in to the web app once')
    .option('--name <text>', 'name of the account')
    .action(async (accountId: string, options: { admin: string; name?: string }) => {
      const { project } = globalsOf(program);
      const token = execFileSync('gcloud', ['auth', 'print-access-token'], { encoding: 'utf8' }).trim();
      const founding = { project, accountId, name: options.name ?? accountId, adminEmail: options.admin, now: Date.now() };
      const admin = await foundAccount(googleApis(token, project), founding);
      say(`The account "${accountId}" is there; ${admin.email} is its admin.`);
    });
}
