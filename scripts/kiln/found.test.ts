import { expect, test } from 'vitest';
import type { JsonObject } from '../json-objects.ts';
import type { ApiAnswer, GoogleApis } from './doctor-apis.ts';
import { foundAccount } from './found.ts';

const founding = { project: 'acme-kiln', accountId: 'acme', name: 'Acme', adminEmail: 'ada@acme.test', now: 1_800_000_000_000 };
const ada = { localId: 'uid-ada', email: 'ada@acme.test', emailVerified: true, displayName: 'Ada' };

function answering(
  users: readonly JsonObject[],
  commit: ApiAnswer = { status: 200, body: {} },
): GoogleApis & { readonly sent: JsonObject[] } {
  const sent: JsonObject[] = [];
  return {
    sent,
    get: () => Promise.reject(new Error('not asked')),
    post: (url, body) => {
      if (url.endsWith('accounts:lookup')) return Promise.resolve({ status: 200, body: users.length === 0 ? {} : { users } });
      sent.push(body);
      return Promise.resolve(commit);
    },
  };
}

test('account and admin come into being together, or not at all', async () => {
  const apis = answering([ada]);
  expect(await foundAccount(apis, founding)).toMatchObject({ uid: 'uid-ada', roles: ['admin'], name: 'Ada' });
  expect(apis.sent).toEqual([
    {
      writes: [
        {
          update: {
            name: 'projects/acme-kiln/databases/(default)/documents/accounts/acme',
            fields: { v: { integerValue: '1' }, accountId: { stringValue: 'acme' }, name: { stringValue: 'Acme' } },
          },
          currentDocument: { exists: false },
        },
        {
          update: {
            name: 'projects/acme-kiln/databases/(default)/documents/accounts/acme/members/uid-ada',
            fields: expect.objectContaining({
              roles: { arrayValue: { values: [{ stringValue: 'admin' }] } },
              active: { booleanValue: true },
            }) as object,
          },
          currentDocument: { exists: false },
        },
      ],
    },
  ]);
});

test('an account that is there is left as it is', async () => {
  await expect(foundAccount(answering([ada], { status: 409, body: {} }), founding)).rejects.toThrow('is there already');
});

test.each([
  ['nobody who has signed in', [], 'Nobody has signed in as ada@acme.test'],
  ['an address that nobody has proven', [{ ...ada, emailVerified: false }], 'is not proven'],
])('%s becomes no admin', async (_what, users, says) => {
  const apis = answering(users);
  await expect(foundAccount(apis, founding)).rejects.toThrow(says);
  expect(apis.sent).toEqual([]);
});

test('an account id that would be a path is refused', async () => {
  await expect(foundAccount(answering([ada]), { ...founding, accountId: 'a/b' })).rejects.toThrow('account id');
});
