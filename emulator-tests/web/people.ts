/** The demo people in the Auth emulator. */
import { ask } from './ask.ts';

export const PASSWORD = 'kiln-demo';

export interface Person {
  readonly uid: string;
  readonly email: string;
  readonly name: string;
}

export const people = {
  approver: { uid: 'demo-approver', email: 'approver@demo.kiln', name: 'Ada Approver' },
  operator: { uid: 'demo-operator', email: 'operator@demo.kiln', name: 'Otto Operator' },
  admin: { uid: 'demo-admin', email: 'admin@demo.kiln', name: 'Alma Admin' },
  outsider: { uid: 'demo-outsider', email: 'outsider@demo.kiln', name: 'Olaf Outsider' },
  second: { uid: 'demo-second', email: 'second@demo.kiln', name: 'Sven Second' },
} as const satisfies Record<string, Person>;

/** Creates them with fixed ids, as an administrator of the emulator may. */
export async function createPeople(authHost: string, projectId: string): Promise<void> {
  for (const { uid, email, name } of Object.values(people)) {
    const answer = await ask(`http://${authHost}/identitytoolkit.googleapis.com/v1/projects/${projectId}/accounts`, {
      method: 'POST',
      headers: { authorization: 'Bearer owner', 'content-type': 'application/json' },
      body: JSON.stringify({ localId: uid, email, password: PASSWORD, displayName: name, emailVerified: true }),
    });
    const text = await answer.text();
    if (!answer.ok && !text.includes('DUPLICATE_LOCAL_ID') && !text.includes('EMAIL_EXISTS'))
      throw new Error(`the Auth emulator refused ${email}: ${text}`);
  }
}
