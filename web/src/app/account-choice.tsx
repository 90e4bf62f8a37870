import { Link, Navigate } from '@tanstack/react-router';
import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { useMemberships } from '../data/account.tsx';
import { signOut, useUser } from '../data/session.tsx';
import { useText } from '../text/text.tsx';
import { Empty, Problem } from '../ui/states.tsx';
import { lastAccount } from './last-account.ts';
import { Splash } from './root.tsx';
import styles from './account-choice.module.css';

/** The way in: straight to the only or the last account, else a choice. */
export function AccountChoice(): ReactNode {
  const { t } = useText();
  const user = useUser();
  const memberships = useMemberships();
  if (memberships.state === 'loading') return <Splash />;
  if (memberships.state === 'failed') {
    return (
      <main>
        <Problem error={memberships.error} />
      </main>
    );
  }
  const { value: members } = memberships;
  const remembered = members.find((member) => member.accountId === lastAccount()) ?? (members.length === 1 ? members[0] : undefined);
  if (remembered !== undefined) return <Navigate to="/a/$accountId/inbox" params={{ accountId: remembered.accountId }} replace />;
  if (members.length === 0) {
    return (
      <main>
        <Empty icon="people" title={t.signIn.noAccount.title} text={t.signIn.noAccount.text(user.email ?? '')}>
          <Button variant="default" onClick={() => void signOut()}>
            {t.shell.signOut}
          </Button>
        </Empty>
      </main>
    );
  }
  return (
    <main className={styles['choice']}>
      <h1>{t.signIn.chooseAccount}</h1>
      <ul>
        {members.map((member) => (
          <li key={member.accountId}>
            <Link to="/a/$accountId/inbox" params={{ accountId: member.accountId }}>
              {member.accountId}
            </Link>
          </li>
        ))}
      </ul>
    </main>
  );
}
