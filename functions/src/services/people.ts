import { KilnError } from '../model/errors.ts';
import type { PeopleDirectory } from '../ledger/members.ts';

/**
 * People at Firebase Authentication. Somebody who has no account gets one without a password: the first sign-in, by a link in
 * a mail or with Google, proves the address. An account that somebody else may have made in that name is not taken for theirs.
 */
export const authDirectory: PeopleDirectory = {
  async uidOf({ email, name }) {
    const { getAuth } = await import('firebase-admin/auth');
    const auth = getAuth();
    try {
      const found = await auth.getUserByEmail(email);
      const proven = found.emailVerified || found.providerData.every(({ providerId }) => providerId !== 'password');
      if (!proven) throw new KilnError('request.invalid', `the account of ${email} has never proved that address; its owner has to, first`);
      return found.uid;
    } catch (error) {
      if (codeOf(error) !== 'auth/user-not-found') throw error;
      const made = await auth.createUser({ email, ...(name === '' ? {} : { displayName: name }) });
      return made.uid;
    }
  },
};

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}
