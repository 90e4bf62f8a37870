import { Outlet, useLocation, useRouter, type ErrorComponentProps } from '@tanstack/react-router';
import { useEffect, type ReactNode } from 'react';
import { startCounting } from '../data/reads.ts';
import { useSession } from '../data/session.tsx';
import { SignInPage } from '../sign-in/sign-in-page.tsx';
import { useText } from '../text/text.tsx';
import { Empty, Problem } from '../ui/states.tsx';
import { Toasts } from '../ui/toast.tsx';
import styles from './root.module.css';

/** Whoever is not signed in sees the sign-in page at every address, and lands at that address afterwards. */
export function Root(): ReactNode {
  const session = useSession();
  const { pathname } = useLocation();
  useEffect(() => startCounting(pathname), [pathname]);
  switch (session.state) {
    case 'loading':
      return <Splash />;
    case 'signed_out':
      return <SignInPage />;
    case 'signed_in':
      return (
        <>
          <Outlet />
          <Toasts />
        </>
      );
  }
}

export function Splash(): ReactNode {
  const { t } = useText();
  return (
    <div className={styles['splash']} role="status">
      <span className="unseen">{t.common.loading}</span>
      <span className={styles['ember']} aria-hidden="true" />
    </div>
  );
}

export function MissingPage(): ReactNode {
  const { t } = useText();
  return (
    <main>
      <Empty icon="question" title={t.problems.missingPage.title} text={t.problems.missingPage.help} />
    </main>
  );
}

export function StumbledPage({ error }: ErrorComponentProps): ReactNode {
  const router = useRouter();
  return (
    <main>
      <Problem error={error} onRetry={() => void router.invalidate()} />
    </main>
  );
}
