import { useEffect, useMemo, useState } from 'react';
import type { ApprovalRecord, DecisionRecord, VerdictRecord } from '@model/approval.ts';
import { paths } from '@model/paths.ts';
import { useAccount } from '../data/account.tsx';
import { useLiveDoc, useLiveList, type Item, type Live } from '../data/live.ts';
import { payloadText } from '../data/payload.ts';
import { queries } from '../data/queries.ts';
import { useUser } from '../data/session.tsx';
import { approvalShape, decisionShape, verdictShape } from '../data/shapes.ts';
import { useNow } from '../ui/now.ts';
import { useAttempt, type Attempt } from './attempts.ts';
import { digestOf, parseShown, rulesOf, type Rules, type Shown } from './shown.ts';
import { standingOf, type Standing } from './standing.ts';

export interface ApprovalView {
  readonly approval: ApprovalRecord;
  readonly rules: Rules;
  readonly decisions: readonly Item<DecisionRecord>[];
  readonly verdicts: readonly VerdictRecord[];
  readonly standing: Standing;
  readonly attempt: Attempt | undefined;
}

/** A request with everybody's answers, live. */
export function useApproval(approvalId: string): Live<ApprovalView | undefined> {
  const { accountId } = useAccount();
  const { uid } = useUser();
  const now = useNow(1_000);
  const approval = useLiveDoc(paths.approval(accountId, approvalId), approvalShape);
  const decisions = useLiveList(queries.decisions(accountId, approvalId), decisionShape);
  const verdicts = useLiveList(queries.verdicts(accountId, approvalId), verdictShape);
  const decisionItems = decisions.state === 'ready' ? decisions.value : undefined;
  const mine = decisionItems?.find((item) => item.id === uid);
  const attempt = useAttempt(accountId, approvalId, decisions.state === 'ready' && !decisions.fromCache, mine);

  return useMemo(() => {
    if (approval.state !== 'ready') return approval;
    if (approval.value === undefined) return { ...approval, value: undefined };
    const record = approval.value.value;
    const judged = verdicts.state === 'ready' ? verdicts.value.map((item) => item.value) : [];
    const own = { uid, decision: mine, verdict: judged.find((verdict) => verdict.by === uid), attempt };
    const view: ApprovalView = {
      approval: record,
      rules: rulesOf(record),
      decisions: decisionItems ?? [],
      verdicts: judged,
      standing: standingOf(record, own, now),
      attempt,
    };
    return { ...approval, value: view };
  }, [approval, verdicts, decisionItems, mine, attempt, uid, now]);
}

export type ShownState =
  | { readonly state: 'loading' }
  | { readonly state: 'failed'; readonly error: unknown }
  /** `intact`: the text is the one whose digest the request names. */
  | { readonly state: 'ready'; readonly shown: Shown; readonly intact: boolean };

/** Loads what is shown and checks its digest here as well: nobody should decide on a text that is not the one in question. */
export function useShown(approval: ApprovalRecord): ShownState {
  const { accountId, runId, digest } = approval;
  const [result, setResult] = useState<ShownState>({ state: 'loading' });
  const { shown } = approval;
  useEffect(() => {
    let current = true;
    const load = async (): Promise<ShownState> => {
      const text = await payloadText({ accountId, runId }, shown);
      return { state: 'ready', shown: parseShown(text), intact: (await digestOf(text)) === digest };
    };
    const show = async (): Promise<void> => {
      const next = await load().catch((error: unknown): ShownState => ({ state: 'failed', error }));
      if (current) setResult(next);
    };
    void show();
    return () => {
      current = false;
    };
    // The digest names the content: another object with the same digest is the same.
  }, [accountId, runId, digest, shown.digest]);
  return result;
}
