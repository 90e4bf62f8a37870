import type { ApprovalRecord } from '@model/approval.ts';
import { useAccount } from '../data/account.tsx';
import { useLiveList, type Item, type Live } from '../data/live.ts';
import { queries } from '../data/queries.ts';
import { useUser } from '../data/session.tsx';
import { approvalShape } from '../data/shapes.ts';

export interface Inbox {
  readonly live: Live<readonly Item<ApprovalRecord>[]>;
  readonly waiting: number;
}

/** What waits for this person. Those for whom the person stands in are included: the engine writes both into `eligible`. */
export function useInbox(): Inbox {
  const { accountId } = useAccount();
  const live = useLiveList(queries.inbox(accountId, useUser().uid), approvalShape);
  return { live, waiting: live.state === 'ready' ? live.value.length : 0 };
}
