import { Button, Textarea } from '@mantine/core';
import { useRef, useState, type ReactNode } from 'react';
import { rejectingOutcomes } from '@model/approval.ts';
import type { Json } from '@engine/json.ts';
import { useUser } from '../data/session.tsx';
import { writeDecision } from '../data/writes.ts';
import { useText } from '../text/text.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { diffJson } from '../ui/json-diff.ts';
import { useShortcuts } from '../ui/keys.tsx';
import { toast } from '../ui/toast.tsx';
import { noteSending, noteTaken, noteTurnedAway } from './attempts.ts';
import { ClaimButton } from './claim-button.tsx';
import { Changes } from './evidence.tsx';
import { outcomeAction } from './outcome-names.ts';
import type { ApprovalView } from './use-approval.ts';
import styles from './approval-page.module.css';

interface BarProps {
  readonly view: ApprovalView;
  readonly original: Json;
  /** Present when the reader has changed something. */
  readonly corrected?: Json;
  readonly effect: string | undefined;
  /** Whether the corrections fit; marks those that do not. */
  readonly check: () => Promise<boolean>;
}

/** The answers, always in reach. Each asks once more, with the effect in words, because a decision cannot be taken back. */
export function DecisionBar(props: BarProps): ReactNode {
  const { t } = useText();
  const { approval } = props.view;
  const [chosen, setChosen] = useState<string>();
  const positive = approval.outcomes.find((outcome) => !rejectingOutcomes.has(outcome) && outcome !== 'abstain');
  const negative = approval.outcomes.find((outcome) => rejectingOutcomes.has(outcome));
  const others = approval.outcomes.filter((outcome) => outcome !== positive && outcome !== negative);

  const choose = async (outcome: string | undefined): Promise<void> => {
    if (outcome === undefined) return;
    if (!rejectingOutcomes.has(outcome) && !(await props.check())) {
      toast('bad', t.approval.correctionFaults);
      return;
    }
    setChosen(outcome);
  };
  useShortcuts([
    { key: 'a', does: t.keys.approve, run: () => void choose(positive) },
    { key: 'r', does: t.keys.reject, run: () => void choose(negative) },
  ]);

  return (
    <>
      <div className={styles['bar']} role="group" aria-label={t.approval.decisions}>
        {positive === undefined ? null : (
          <Button size="md" onClick={() => void choose(positive)}>
            {outcomeAction(t, positive)}
          </Button>
        )}
        {negative === undefined ? null : (
          <Button size="md" variant="default" onClick={() => void choose(negative)}>
            {outcomeAction(t, negative)}
          </Button>
        )}
        {others.map((outcome) => (
          <Button key={outcome} size="md" variant="subtle" color="gray" onClick={() => void choose(outcome)}>
            {outcomeAction(t, outcome)}
          </Button>
        ))}
        <ClaimButton approval={approval} />
      </div>
      <Dialog open={chosen !== undefined} onClose={() => setChosen(undefined)} title={chosen === undefined ? '' : outcomeAction(t, chosen)}>
        {chosen === undefined ? null : <Confirm {...props} outcome={chosen} onDone={() => setChosen(undefined)} />}
      </Dialog>
    </>
  );
}

function Confirm({
  view,
  outcome,
  original,
  corrected,
  effect,
  onDone,
}: BarProps & { readonly outcome: string; readonly onDone: () => void }): ReactNode {
  const { t } = useText();
  const { uid } = useUser();
  const { approval } = view;
  const [comment, setComment] = useState('');
  const [missing, setMissing] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const needed = approval.commentRequired.includes(outcome);
  const rejecting = rejectingOutcomes.has(outcome);
  const values = rejecting ? undefined : corrected;

  const send = (): void => {
    if (needed && comment.trim() === '') {
      setMissing(true);
      field.current?.focus();
      return;
    }
    const { accountId, approvalId, digest } = approval;
    noteSending(accountId, approvalId, outcome);
    writeDecision({
      accountId,
      approvalId,
      by: uid,
      outcome,
      digest,
      ...(comment.trim() === '' ? {} : { comment: comment.trim() }),
      ...(values === undefined ? {} : { values: JSON.stringify(values) }),
    })
      .then(() => noteTaken(accountId, approvalId))
      .catch(() => noteTurnedAway(accountId, approvalId, outcome));
    onDone();
  };

  return (
    <form
      className={styles['confirm']}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send();
      }}
    >
      {rejecting || effect === undefined ? null : <p className={styles['effect']}>{effect}</p>}
      {values === undefined ? null : <Changes changes={diffJson(original, values)} title={t.approval.corrected} />}
      <Textarea
        ref={field}
        label={t.approval.comment}
        description={needed ? t.approval.commentNeeded : t.approval.commentOptional}
        required={needed}
        data-autofocus
        autosize
        minRows={2}
        maxRows={8}
        maxLength={4_000}
        value={comment}
        error={missing && comment.trim() === '' ? t.common.required : undefined}
        onChange={(event) => setComment(event.currentTarget.value)}
      />
      <p className="small soft">{t.approval.cannotChange}</p>
      <div className={styles['actions']}>
        <Button variant="default" size="md" onClick={onDone}>
          {t.common.cancel}
        </Button>
        <Button type="submit" size="md" color={rejecting ? 'red' : 'kiln'} autoFocus={!needed}>
          {t.approval.confirm(outcomeAction(t, outcome))}
        </Button>
      </div>
    </form>
  );
}
