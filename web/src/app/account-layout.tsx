import { Link, Outlet, useParams } from '@tanstack/react-router';
import { useEffect, type ReactNode } from 'react';
import { AccountProvider, useMembership } from '../data/account.tsx';
import { codeOf } from '../data/problem.ts';
import { useText } from '../text/text.tsx';
import { Empty, Problem } from '../ui/states.tsx';
import { rememberAccount } from './last-account.ts';
import { Splash } from './root.tsx';
import { Shell } from './shell.tsx';

/** Everything below an account; whoever is no active member of it sees nothing of it. */
export function AccountLayout(): ReactNode {
  const { accountId } = useParams({ from: '/a/$accountId' });
  const membership = useMembership(accountId);
  const member = membership.state === 'ready' ? membership.value?.value : undefined;
  const active = member?.active === true;
  useEffect(() => {
    if (active) rememberAccount(accountId);
  }, [accountId, active]);

  if (membership.state === 'loading') return <Splash />;
  if (membership.state === 'failed' && codeOf(membership.error) !== 'permission-denied') {
    return (
      <main>
        <Problem error={membership.error} />
      </main>
    );
  }
  if (member === undefined || !active) return <NotMember />;
  return (
    <AccountProvider accountId={accountId} me={member}>
      <Shell>
        <Outlet />
      </Shell>
    </AccountProvider>
  );
}

function NotMember(): ReactNode {
  const { t } = useText();
  return (
    <main>
      <Empty icon="ban" title={t.signIn.notMember.title} text={t.signIn.notMember.text}>
        <Link to="/">{t.shell.switchAccount}</Link>
      </Empty>
    </main>
  );
}
