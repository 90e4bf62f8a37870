import { createContext, use, useMemo, type ReactNode } from 'react';
import { z } from 'zod';
import type { MemberRecord, Role } from '@model/member.ts';
import { paths } from '@model/paths.ts';
import { useText } from '../text/text.tsx';
import { useLiveDoc, useLiveList, type Item, type Live } from './live.ts';
import { queries } from './queries.ts';
import { useUser } from './session.tsx';
import { memberShape } from './shapes.ts';

/** What a role lets somebody do. The rules and the functions decide; the app only hides what would be refused. */
const rights = {
  decide: ['approver', 'operator', 'admin'],
  operate: ['operator', 'admin'],
  author: ['author', 'admin'],
  start: ['author', 'operator', 'admin'],
  administer: ['admin'],
} as const satisfies Record<string, readonly Role[]>;
export type Right = keyof typeof rights;

export interface Account {
  readonly accountId: string;
  readonly me: MemberRecord;
  readonly can: (right: Right) => boolean;
}

const AccountContext = createContext<Account | undefined>(undefined);

export function AccountProvider({
  accountId,
  me,
  children,
}: {
  readonly accountId: string;
  readonly me: MemberRecord;
  readonly children: ReactNode;
}): ReactNode {
  const account = useMemo<Account>(
    () => ({ accountId, me, can: (right) => me.roles.some((role) => (rights[right] as readonly Role[]).includes(role)) }),
    [accountId, me],
  );
  return <AccountContext value={account}>{children}</AccountContext>;
}

export function useAccount(): Account {
  const account = use(AccountContext);
  if (account === undefined) throw new Error('useAccount outside of an account');
  return account;
}

/** The person's own membership of one account. */
export function useMembership(accountId: string): Live<Item<MemberRecord> | undefined> {
  return useLiveDoc(paths.member(accountId, useUser().uid), memberShape);
}

/** All accounts that the person is an active member of. */
export function useMemberships(): Live<readonly MemberRecord[]> {
  const live = useLiveList(queries.memberships(useUser().uid), memberShape);
  return useMemo(
    () => (live.state === 'ready' ? { ...live, value: live.value.map((item) => item.value).filter((member) => member.active) } : live),
    [live],
  );
}

const accountShape = z.looseObject({ name: z.string().optional() });

/** What people call the account; its id while that is unknown. */
export function useAccountName(accountId: string): string {
  const live = useLiveDoc(paths.account(accountId), accountShape);
  return (live.state === 'ready' ? live.value?.value.name : undefined) ?? accountId;
}

export interface People {
  readonly nameOf: (uid: string) => string;
  readonly all: readonly MemberRecord[];
}

/** Names of the account's members: dots until they are loaded; when there are more than fit, somebody unknown is "Somebody". */
export function usePeople(): People {
  const { accountId } = useAccount();
  const { t } = useText();
  const live = useLiveList(queries.members(accountId), memberShape);
  return useMemo(() => {
    const all = live.state === 'ready' ? live.value.map((item) => item.value) : [];
    const names = new Map(all.map((member) => [member.uid, member.name === '' ? member.email : member.name]));
    const unknown = live.state === 'loading' ? '…' : t.common.unknownPerson;
    return { all, nameOf: (uid) => names.get(uid) ?? (uid === 'system' ? t.common.system : unknown) };
  }, [live, t]);
}
