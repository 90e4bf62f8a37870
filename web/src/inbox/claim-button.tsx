import { Button } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import type { ApprovalRecord } from '@model/approval.ts';
import { call } from '../data/api.ts';
import { describeProblem } from '../data/problem.ts';
import { useUser } from '../data/session.tsx';
import { useText } from '../text/text.tsx';
import { toast } from '../ui/toast.tsx';

/** "I take it": the others cannot decide until it is given back. */
export function ClaimButton({ approval }: { readonly approval: ApprovalRecord }): ReactNode {
  const { t } = useText();
  const { uid } = useUser();
  const [busy, setBusy] = useState(false);
  if (!approval.claimable) return null;
  const mine = approval.claimedBy === uid;
  const change = async (): Promise<void> => {
    setBusy(true);
    try {
      await call(mine ? 'releaseApproval' : 'claimApproval', approval.accountId, { approvalId: approval.approvalId });
    } catch (error) {
      const { title, help } = describeProblem(error, t);
      toast('bad', `${title} ${help}`.trim());
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button size="md" variant="subtle" color="gray" loading={busy} onClick={() => void change()}>
      {mine ? t.approval.release : t.approval.claim}
    </Button>
  );
}
