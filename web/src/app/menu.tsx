import { Button, useMantineColorScheme } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useAccount, useMemberships } from '../data/account.tsx';
import { signOut, useUser } from '../data/session.tsx';
import { languages, useText, type Language } from '../text/text.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icons.tsx';
import { ON_PHONE, places } from './places.ts';
import styles from './shell.module.css';

const schemes = ['auto', 'light', 'dark'] as const;

/** The person's own corner, and on a phone the way to every other page. */
export function Menu({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }): ReactNode {
  const { t, language, setLanguage } = useText();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const { me } = useAccount();
  const user = useUser();
  return (
    <Dialog open={open} onClose={onClose} title={me.name === '' ? me.email : me.name}>
      <div className={styles['menu']}>
        <p className="small soft">
          {user.email}
          <br />
          {me.roles.map((role) => t.shell.roles[role]).join(', ')}
        </p>
        <OtherPlaces onClose={onClose} />
        <OtherAccounts onClose={onClose} />
        <fieldset>
          <legend>{t.shell.appearance}</legend>
          {schemes.map((scheme) => (
            <Button
              key={scheme}
              size="compact-sm"
              variant={colorScheme === scheme ? 'light' : 'default'}
              aria-pressed={colorScheme === scheme}
              onClick={() => setColorScheme(scheme)}
            >
              {t.shell[scheme]}
            </Button>
          ))}
        </fieldset>
        <fieldset>
          <legend>{t.shell.language}</legend>
          {(Object.keys(languages) as Language[]).map((each) => (
            <Button
              key={each}
              size="compact-sm"
              variant={language === each ? 'light' : 'default'}
              aria-pressed={language === each}
              onClick={() => setLanguage(each)}
            >
              {languages[each]}
            </Button>
          ))}
        </fieldset>
        <Button variant="default" leftSection={<Icon name="exit" />} onClick={() => void signOut()}>
          {t.shell.signOut}
        </Button>
      </div>
    </Dialog>
  );
}

/** On a phone, what the bar below has no room for. */
function OtherPlaces({ onClose }: { readonly onClose: () => void }): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  return (
    <nav aria-label={t.shell.more} className={`${styles['nav']} ${styles['onPhone']}`}>
      {places.slice(ON_PHONE).map((place) => (
        <Link key={place.name} to={place.to} params={{ accountId }} onClick={onClose}>
          <Icon name={place.icon} />
          {t.shell[place.name]}
        </Link>
      ))}
    </nav>
  );
}

function OtherAccounts({ onClose }: { readonly onClose: () => void }): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const memberships = useMemberships();
  const others = memberships.state === 'ready' ? memberships.value.filter((member) => member.accountId !== accountId) : [];
  if (others.length === 0) return null;
  return (
    <nav aria-label={t.shell.switchAccount} className={styles['nav']}>
      <h3>{t.shell.switchAccount}</h3>
      {others.map((member) => (
        <Link key={member.accountId} to="/a/$accountId/inbox" params={{ accountId: member.accountId }} onClick={onClose}>
          <Icon name="people" />
          {member.accountId}
        </Link>
      ))}
    </nav>
  );
}
