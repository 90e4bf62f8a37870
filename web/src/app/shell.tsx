import { Link, useNavigate } from '@tanstack/react-router';
import { ActionIcon } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import { useAccount, useAccountName } from '../data/account.tsx';
import { services } from '../data/firebase.ts';
import { useInbox } from '../inbox/use-inbox.ts';
import { useText } from '../text/text.tsx';
import { Icon } from '../ui/icons.tsx';
import { useShortcuts } from '../ui/keys.tsx';
import { KeyHelp } from './key-help.tsx';
import { ON_PHONE, places } from './places.ts';
import { Menu } from './menu.tsx';
import { Notifications, useUnread } from './notifications.tsx';
import { useOnline } from './online.ts';
import { PageTitleCount } from './page-title.tsx';
import styles from './shell.module.css';

type Panel = 'keys' | 'menu' | 'notifications';

export function Shell({ children }: { readonly children: ReactNode }): ReactNode {
  const { t } = useText();
  const { accountId, me } = useAccount();
  const navigate = useNavigate();
  const online = useOnline();
  const waiting = useInbox().waiting;
  const unread = useUnread();
  const [panel, setPanel] = useState<Panel>();
  const close = (): void => setPanel(undefined);
  const params = { accountId };

  useShortcuts([
    { key: '?', does: t.keys.help, run: () => setPanel('keys') },
    { key: 'u', does: t.keys.goRuns, run: () => void navigate({ to: '/a/$accountId/runs', params }) },
    { key: 'w', does: t.keys.goWorkflows, run: () => void navigate({ to: '/a/$accountId/workflows', params }) },
    { key: 'i', does: t.keys.goInbox, run: () => void navigate({ to: '/a/$accountId/inbox', params }) },
  ]);

  return (
    <PageTitleCount count={waiting}>
      <a href="#content" className={styles['skip']}>
        {t.shell.skip}
      </a>
      <div className={styles['shell']}>
        <header className={styles['side']}>
          <Brand accountId={accountId} />
          <nav aria-label={t.shell.navigation} className={styles['nav']}>
            {places.map((place) => (
              <Link key={place.name} to={place.to} params={params}>
                <Icon name={place.icon} />
                {t.shell[place.name]}
                {place.name === 'inbox' ? <Count value={waiting} label={t.shell.waitingForYou(waiting)} /> : null}
              </Link>
            ))}
          </nav>
          <div className={styles['foot']}>
            <button type="button" className={styles['sideButton']} onClick={() => setPanel('notifications')}>
              <Icon name="bell" />
              {t.shell.notifications}
              <Count value={unread} label={t.shell.unread(unread)} />
            </button>
            <button type="button" className={styles['sideButton']} onClick={() => setPanel('keys')}>
              <Icon name="keyboard" />
              {t.shell.keys}
            </button>
            <button type="button" className={styles['sideButton']} onClick={() => setPanel('menu')}>
              <Icon name="person" />
              <span className={styles['who']}>{me.name === '' ? me.email : me.name}</span>
            </button>
          </div>
        </header>
        <header className={styles['top']}>
          <Brand accountId={accountId} />
          <ActionIcon
            variant="subtle"
            color="gray"
            size="xl"
            aria-label={`${t.shell.notifications}: ${t.shell.unread(unread)}`}
            onClick={() => setPanel('notifications')}
          >
            <Icon name="bell" />
          </ActionIcon>
        </header>
        <div>
          {online ? null : (
            <p className={styles['banner']} role="status">
              <Icon name="warn" />
              {t.shell.offline}
            </p>
          )}
          <main id="content" tabIndex={-1} className={styles['main']}>
            <div className={styles['inner']}>{children}</div>
          </main>
        </div>
        <PhoneTabs waiting={waiting} onMore={() => setPanel('menu')} />
      </div>
      <KeyHelp open={panel === 'keys'} onClose={close} />
      <Menu open={panel === 'menu'} onClose={close} />
      <Notifications open={panel === 'notifications'} onClose={close} />
    </PageTitleCount>
  );
}

function PhoneTabs({ waiting, onMore }: { readonly waiting: number; readonly onMore: () => void }): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  return (
    <nav aria-label={t.shell.navigation} className={styles['tabs']}>
      {places.slice(0, ON_PHONE).map((place) => (
        <Link key={place.name} to={place.to} params={{ accountId }}>
          <Icon name={place.icon} size={20} />
          {t.shell[place.name]}
          {place.name === 'inbox' ? <Count value={waiting} label={t.shell.waitingForYou(waiting)} /> : null}
        </Link>
      ))}
      <button type="button" onClick={onMore}>
        <Icon name="dots" size={20} />
        {t.shell.more}
      </button>
    </nav>
  );
}

function Brand({ accountId }: { readonly accountId: string }): ReactNode {
  const { t } = useText();
  const name = useAccountName(accountId);
  const demo = services().environment.emulators !== undefined;
  return (
    <Link to="/a/$accountId/inbox" params={{ accountId }} className={styles['brand']} title={demo ? t.shell.demoNote : undefined}>
      <img src="/icon.svg" alt="" />
      <span>
        Kiln
        <small>{demo ? `${name} · ${t.shell.demo}` : name}</small>
      </span>
    </Link>
  );
}

function Count({ value, label }: { readonly value: number; readonly label: string }): ReactNode {
  if (value === 0) return null;
  return (
    <span className={styles['count']}>
      <span aria-hidden="true">{value > 99 ? '99+' : value}</span>
      <span className="unseen">{label}</span>
    </span>
  );
}
