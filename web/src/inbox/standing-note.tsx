import type { ReactNode } from 'react';
import { usePeople } from '../data/account.tsx';
import { useOnline } from '../app/online.ts';
import { useText } from '../text/text.tsx';
import { Icon, type IconName } from '../ui/icons.tsx';
import { useNow } from '../ui/now.ts';
import { outcomeDone } from './outcome-names.ts';
import type { ApprovalView } from './use-approval.ts';
import styles from './approval-page.module.css';

/** What came of the reader's own decision, or why there is nothing to decide: information, not an error. */
export function StandingNote({ view }: { readonly view: ApprovalView }): ReactNode {
  const { t } = useText();
  const { standing, approval } = view;
  const online = useOnline();
  const people = usePeople();
  const words = t.approval.standing;
  const how = useHowItEnded(view);
  switch (standing.kind) {
    case 'open':
      return approval.claimedBy === undefined ? null : <Note tone="run" icon="person" title={t.approval.claimedByYou} />;
    case 'sending':
      return online ? <Note tone="run" icon="clock" {...words.sending} /> : <Note tone="wait" icon="clock" {...words.sendingOffline} />;
    case 'received':
      return <Note tone="run" icon="clock" {...words.received} />;
    case 'accepted':
      return (
        <Note
          tone="good"
          icon="check"
          title={words.accepted(outcomeDone(t, standing.outcome))}
          text={approval.status === 'pending' ? words.acceptedOthers : ''}
        />
      );
    case 'refused':
      return how === undefined ? (
        <Note tone="wait" icon="info" title={words.refused} text={standing.reason} />
      ) : (
        <Note tone="idle" icon="info" title={how} text={words.alreadyText} />
      );
    case 'turned_away':
      return how === undefined ? (
        <Note tone="wait" icon="info" title={words.turnedAway} text={words.turnedAwayText} />
      ) : (
        <Note tone="idle" icon="info" title={how} text={words.alreadyText} />
      );
    case 'ended':
      return <Note tone="idle" icon="info" title={how ?? words.ended} />;
    case 'taken':
      return <Note tone="idle" icon="person" title={words.taken(people.nameOf(standing.by))} text={words.takenText} />;
    case 'late':
      return <Note tone="wait" icon="clock" title={words.late} />;
    case 'not_asked':
      return <Note tone="idle" icon="info" title={words.notAsked} />;
  }
}

/** "Already decided by Ada, 3 minutes ago"; undefined while the request is open. */
function useHowItEnded({ approval }: ApprovalView): string | undefined {
  const { t, format } = useText();
  const people = usePeople();
  const now = useNow(10_000);
  const when = format.relative(approval.endedAt ?? approval.deadlineAt, now);
  const words = t.approval.standing;
  switch (approval.status) {
    case 'pending':
      return undefined;
    case 'decided': {
      const names = approval.decidedByNames ?? (approval.decidedBy ?? []).map((uid) => people.nameOf(uid));
      return words.already(names.join(', ') || t.common.unknownPerson, when);
    }
    case 'expired':
      return words.expired(when);
    case 'cancelled':
      return t.approval.result.cancelled;
  }
}

interface NoteProps {
  readonly tone: 'good' | 'wait' | 'run' | 'idle';
  readonly icon: IconName;
  readonly title: string;
  readonly text?: string;
}

function Note({ tone, icon, title, text = '' }: NoteProps): ReactNode {
  return (
    <div className={styles['note']} data-tone={tone} role="status">
      <Icon name={icon} size={20} />
      <div>
        <strong>{title}</strong>
        {text === '' ? null : <p>{text}</p>}
      </div>
    </div>
  );
}
