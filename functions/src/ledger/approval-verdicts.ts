import { faultOfValues } from '../engine/form.ts';
import { canonicalJson } from '../engine/json.ts';
import type { Tally } from '../engine/quorum.ts';
import { nameOf } from '../engine/verdict.ts';
import type { Judgement, Request, Submitted } from '../engine/verdict.ts';
import type { ApprovalRecord, VerdictRecord } from '../model/approval.ts';
import { paths } from '../model/paths.ts';
import type { Look } from './approval-reading.ts';
import type { Happening } from './history.ts';
import { remove } from './store.ts';
import type { Write } from './store.ts';

export interface Counted {
  /** Verdicts of this transaction. */
  readonly verdicts: readonly VerdictRecord[];
  /** All that count, those of before included. */
  readonly accepted: readonly VerdictRecord[];
  readonly result: Tally;
}

export function requestOf(look: Look): Request {
  const { form, purpose } = look.approval;
  const faultOf = (values: string): string | undefined => (form === undefined ? undefined : faultOfValues(form, values));
  if (purpose !== 'correction') return { ...look, faultOf };
  return { ...look, faultOf, faultOfShown: faultOf(canonicalJson(look.shown.values ?? null)) };
}

export function verdictOf(
  { approval, members }: Look,
  { uid, decision, createdAt }: Submitted,
  judgement: Judgement,
  now: number,
): VerdictRecord {
  const { accountId, approvalId } = approval;
  const base = {
    v: 1 as const,
    accountId,
    approvalId,
    by: uid,
    name: nameOf(members, uid),
    outcome: decision.outcome,
    decidedAt: createdAt,
    at: now,
  };
  return judgement.accepted
    ? { ...base, seats: [...judgement.seats], accepted: true }
    : { ...base, seats: [], accepted: false, reason: judgement.reason };
}

/** Kept beside the decision; the decision itself only loses the mark that it is still to be judged. */
export function verdictWrites(verdict: VerdictRecord): readonly Write[] {
  const { accountId, approvalId, by } = verdict;
  return [
    { op: 'create', path: paths.verdict(accountId, approvalId, by), data: verdict },
    { op: 'update', path: paths.decision(accountId, approvalId, by), data: { due: remove } },
  ];
}

export function happeningOf(verdict: VerdictRecord, { approval, members, submitted }: Look): Happening {
  const others = verdict.seats.filter((uid) => uid !== verdict.by).map((uid) => nameOf(members, uid));
  const forWhom = others.length === 0 ? '' : ` for ${others.join(', ')}`;
  const decision = submitted.find(({ uid }) => uid === verdict.by)?.decision;
  const comment = decision?.comment === undefined || approval.sensitive ? '' : `: ${decision.comment}`;
  const what = `${verdict.name} answered "${verdict.outcome}"${forWhom} to "${approval.title}"${comment}`;
  return {
    kind: verdict.accepted ? 'decision' : 'decision_refused',
    by: verdict.by,
    text: verdict.accepted ? what : `${what}. It did not count: ${verdict.reason ?? ''}`,
    data: {
      approvalId: approval.approvalId,
      stepKey: approval.stepKey,
      outcome: verdict.outcome,
      seats: verdict.seats,
      digest: decision?.digest ?? '',
      decidedAt: verdict.decidedAt,
    },
  };
}

/** Everybody who has been answered, with those of now. */
export function answeredBy(approval: ApprovalRecord, verdicts: readonly VerdictRecord[]): string[] {
  return [...new Set([...approval.answered, ...verdicts.map((verdict) => verdict.by)])];
}
