import { createContext, use, useEffect, useState, type ReactNode } from 'react';
import { onAuthStateChanged, signOut as endSession, type User } from 'firebase/auth';
import { clearIndexedDbPersistence, terminate } from 'firebase/firestore';
import { closeAll } from './live.ts';
import { services } from './firebase.ts';

export type Session =
  { readonly state: 'loading' } | { readonly state: 'signed_out' } | { readonly state: 'signed_in'; readonly user: User };

const SessionContext = createContext<Session>({ state: 'loading' });

export function SessionProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const [session, setSession] = useState<Session>({ state: 'loading' });
  useEffect(
    () =>
      onAuthStateChanged(services().auth, (user) => {
        closeAll();
        setSession(user === null ? { state: 'signed_out' } : { state: 'signed_in', user });
      }),
    [],
  );
  return <SessionContext value={session}>{children}</SessionContext>;
}

export function useSession(): Session {
  return use(SessionContext);
}

export function useUser(): User {
  const session = use(SessionContext);
  if (session.state !== 'signed_in') throw new Error('a page for signed-in people is shown to somebody else');
  return session.user;
}

/** Leaves nothing behind that the next person at this device could read. */
export async function signOut(): Promise<void> {
  const { auth, db } = services();
  closeAll();
  await endSession(auth);
  await terminate(db);
  // Another tab may still hold the cache; it is emptied when that one signs out as well.
  await clearIndexedDbPersistence(db).catch(() => undefined);
  location.assign('/');
}
