import { Button } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import type { MemberRecord } from '@model/member.ts';
import { useAccount, usePeople } from '../data/account.tsx';
import { useLiveList } from '../data/live.ts';
import { queries } from '../data/queries.ts';
import { memberShape } from '../data/shapes.ts';
import { useText } from '../text/text.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { useNow } from '../ui/now.ts';
import { Loading, Problem } from '../ui/states.tsx';
import { DelegationForm, InviteForm, MemberForm } from './member-forms.tsx';
import { useCall } from './use-call.ts';
import styles from './operations.module.css';

type Panel = { readonly kind: 'invite' } | { readonly kind: 'delegate' } | { readonly kind: 'change'; readonly member: MemberRecord };

export function MembersPane(): ReactNode {
  const { t } = useText();
  const { accountId, can } = useAccount();
  const live = useLiveList(queries.members(accountId), memberShape);
  const [panel, setPanel] = useState<Panel>();
  const words = t.operations.members;
  const close = (): void => setPanel(undefined);
  if (live.state === 'loading') return <Loading />;
  if (live.state === 'failed') return <Problem error={live.error} />;
  return (
    <div className={styles['stack']}>
      <div className={styles['actions']}>
        {can('administer') ? <Button onClick={() => setPanel({ kind: 'invite' })}>{words.invite}</Button> : null}
        <Button variant="default" onClick={() => setPanel({ kind: 'delegate' })}>
          {words.setDelegation}
        </Button>
      </div>
      {can('administer') ? null : <p className="small soft">{words.onlyAdmins}</p>}
      <ul className={styles['list']}>
        {live.value.map(({ id, value }) => (
          <MemberRow key={id} member={value} onChange={() => setPanel({ kind: 'change', member: value })} />
        ))}
      </ul>
      <Dialog open={panel?.kind === 'invite'} onClose={close} title={words.invite}>
        <InviteForm onDone={close} />
      </Dialog>
      <Dialog open={panel?.kind === 'delegate'} onClose={close} title={words.setDelegation}>
        <DelegationForm onDone={close} />
      </Dialog>
      <Dialog open={panel?.kind === 'change'} onClose={close} title={panel?.kind === 'change' ? panel.member.email : ''}>
        {panel?.kind === 'change' ? <MemberForm member={panel.member} onDone={close} /> : null}
      </Dialog>
    </div>
  );
}

function MemberRow({ member, onChange }: { readonly member: MemberRecord; readonly onChange: () => void }): ReactNode {
  const { t, format } = useText();
  const { can, me } = useAccount();
  const people = usePeople();
  const now = useNow(60_000);
  const { busy, problem, run } = useCall();
  const words = t.operations.members;
  const { delegation } = member;
  const standsIn = delegation !== undefined && now < delegation.until;
  return (
    <li>
      <div className={styles['main']}>
        <div className={styles['line']}>
          <strong>{member.name === '' ? member.email : member.name}</strong>
          <span className="soft">{member.email}</span>
          {member.active ? null : <span className="small soft">{words.inactive}</span>}
        </div>
        <p className="small soft">{[...member.roles.map((role) => t.shell.roles[role]), ...member.departments].join(' · ')}</p>
        {standsIn ? (
          <p className="small">
            {words.standsIn(people.nameOf(delegation.to), format.moment(delegation.until, now))}{' '}
            {member.uid === me.uid || can('administer') ? (
              <Button
                variant="subtle"
                size="compact-xs"
                loading={busy}
                onClick={() => void run('endDelegation', member.uid === me.uid ? {} : { for: member.uid })}
              >
                {words.endDelegation}
              </Button>
            ) : null}
          </p>
        ) : null}
        {problem === undefined ? null : <Problem error={problem} compact />}
      </div>
      {can('administer') ? (
        <Button variant="default" size="compact-sm" onClick={onChange}>
          {words.change}
        </Button>
      ) : null}
    </li>
  );
}
