import { Button, NativeSelect, Textarea } from '@mantine/core';
import { useState, type FormEvent, type ReactNode } from 'react';
import { useAccount, usePeople } from '../data/account.tsx';
import { useCall } from '../operations/use-call.ts';
import { useText } from '../text/text.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Problem } from '../ui/states.tsx';
import { toast } from '../ui/toast.tsx';
import { seatsToHandOver } from './standing.ts';
import type { ApprovalView } from './use-approval.ts';
import styles from './approval-page.module.css';

/** People hand over their own seat; operators and admins any, or ask somebody in addition. */
export function Handover({ view }: { readonly view: ApprovalView }): ReactNode {
  const { t } = useText();
  const { me, can } = useAccount();
  const [open, setOpen] = useState(false);
  if (view.approval.status !== 'pending') return null;
  const left = seatsToHandOver(view.rules.panels, view.verdicts);
  const seats = can('operate') ? left : left.filter((uid) => uid === me.uid);
  if (seats.length === 0 && !can('operate')) return null;
  const words = t.approval.handover;
  return (
    <div>
      <Button variant="default" onClick={() => setOpen(true)}>
        {words.title}
      </Button>
      <Dialog open={open} onClose={() => setOpen(false)} title={words.title}>
        <HandoverForm view={view} seats={seats} onDone={() => setOpen(false)} />
      </Dialog>
    </div>
  );
}

interface FormProps {
  readonly view: ApprovalView;
  readonly seats: readonly string[];
  readonly onDone: () => void;
}

function HandoverForm({ view, seats, onDone }: FormProps): ReactNode {
  const { t } = useText();
  const { me, can } = useAccount();
  const people = usePeople();
  const { busy, problem, run } = useCall();
  const { approval, rules } = view;
  const words = t.approval.handover;
  const candidates = people.all.filter(({ uid, active }) => active && !rules.panels.some((panel) => panel.seats.includes(uid)));
  const groups = typeof rules.quorum === 'object' && 'groups' in rules.quorum ? rules.quorum.groups.map(({ name }) => name) : [];
  const [from, setFrom] = useState(seats.includes(me.uid) ? me.uid : (seats[0] ?? ''));
  const [to, setTo] = useState('');
  const [group, setGroup] = useState(groups[0] ?? '');
  const [reason, setReason] = useState('');
  const chosen = to === '' ? (candidates[0]?.uid ?? '') : to;
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const whose = from === '' ? (groups.length === 0 ? {} : { group }) : { from };
    if (!(await run('reassignApproval', { approvalId: approval.approvalId, to: chosen, reason: reason.trim(), ...whose }))) return;
    toast('good', words.done(people.nameOf(chosen)));
    onDone();
  };
  return (
    <form className={styles['confirm']} onSubmit={(event) => void send(event)}>
      <NativeSelect
        label={words.from}
        value={from}
        onChange={(event) => setFrom(event.currentTarget.value)}
        data={[
          ...seats.map((uid) => ({ value: uid, label: uid === me.uid ? words.me : people.nameOf(uid) })),
          ...(can('operate') ? [{ value: '', label: words.inAddition }] : []),
        ]}
      />
      {from === '' && groups.length > 0 ? (
        <NativeSelect label={words.group} value={group} onChange={(event) => setGroup(event.currentTarget.value)} data={groups} />
      ) : null}
      {candidates.length === 0 ? (
        <p>{words.nobody}</p>
      ) : (
        <NativeSelect
          label={words.to}
          value={chosen}
          onChange={(event) => setTo(event.currentTarget.value)}
          data={candidates.map(({ uid }) => ({ value: uid, label: people.nameOf(uid) }))}
        />
      )}
      <Textarea
        label={t.common.reason}
        required
        autosize
        minRows={2}
        maxLength={500}
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
      {problem === undefined ? null : <Problem error={problem} compact />}
      <div className={styles['actions']}>
        <Button variant="default" onClick={onDone}>
          {t.common.cancel}
        </Button>
        <Button type="submit" loading={busy} disabled={chosen === '' || reason.trim() === ''}>
          {words.send}
        </Button>
      </div>
    </form>
  );
}
