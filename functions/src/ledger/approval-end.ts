import { canonicalJson, digest, parseJson } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import { nameOf } from '../engine/verdict.ts';
import { rejectingOutcomes } from '../model/approval.ts';
import type { ApprovalRecord, VerdictRecord } from '../model/approval.ts';
import { BusinessException, KilnError, toErrorRecord } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import type { CorrectionRecord } from '../model/recipe.ts';
import type { Look } from './approval-reading.ts';
import type { Outcome } from './transitions.ts';

/** How a request ended. */
export type End =
  | { readonly kind: 'decided'; readonly outcome: string; readonly choice: string; readonly by: readonly string[] }
  | { readonly kind: 'expired' };

export interface ApprovalEnd {
  /** The step's. */
  readonly outcome: Outcome;
  /** The request's. */
  readonly fields: Pick<ApprovalRecord, 'status' | 'outcome' | 'decidedBy' | 'decidedByNames'>;
  /** One sentence for people. */
  readonly text: string;
}

/** What the end of a request means for its step, its record and its readers. */
export function approvalEnd(look: Look & { readonly accepted: readonly VerdictRecord[] }, end: End, now: number): ApprovalEnd {
  const { approval, members } = look;
  const outcome = end.kind === 'decided' ? end.outcome : outcomeOfDeadline(approval.onDeadline);
  const output = canonicalJson({
    outcome: outcome ?? 'expired',
    byDeadline: end.kind === 'expired',
    decisions: look.accepted.map((verdict) => decisionOf(look, verdict)),
    values: valuesOf(look, end) ?? null,
    digest: approval.digest,
    requestedAt: approval.requestedAt,
    decidedAt: now,
    waitedMs: now - approval.requestedAt,
  });
  if (end.kind === 'expired') {
    const text = `Nobody decided on "${approval.title}" in time${outcome === undefined ? '' : `; it counts as ${outcome === 'approve' ? 'approved' : 'rejected'}`}`;
    const fields: ApprovalEnd['fields'] = { status: 'expired', ...(outcome === undefined ? {} : { outcome }) };
    if (outcome === undefined)
      return { outcome: { kind: 'failed', error: toErrorRecord(new KilnError('approval.expired', text)), output }, fields, text };
    return { outcome: stepOutcome(approval, outcome, text, output), fields, text };
  }
  const decidedByNames = end.by.map((uid) => nameOf(members, uid));
  const text = `"${approval.title}" was decided by ${decidedByNames.join(', ')}: ${end.outcome}${commentsOf(look, end.by)}`;
  const fields: ApprovalEnd['fields'] = { status: 'decided', outcome: end.outcome, decidedBy: [...end.by], decidedByNames };
  if (approval.purpose === 'correction' && !rejectingOutcomes.has(end.outcome)) return { outcome: corrected(look, end, now), fields, text };
  return { outcome: stepOutcome(approval, end.outcome, text, output), fields, text };
}

const KEPT_CHARS = 100_000;

/** The accepted values are the step's output. What was changed, and why, is kept as data. */
function corrected(look: Look, end: Extract<End, { kind: 'decided' }>, now: number): Outcome {
  const { approval, held, shown, submitted } = look;
  const { accountId, approvalId, runId, stepKey, workflowId } = approval;
  const before = canonicalJson(shown.values ?? null);
  const output = canonicalJson(valuesOf(look, end) ?? null);
  const comments = submitted.flatMap(({ uid, decision }) =>
    end.by.includes(uid) && decision.comment !== undefined ? [decision.comment] : [],
  );
  const record: CorrectionRecord = {
    v: 1,
    accountId,
    approvalId,
    runId,
    stepKey,
    workflowId,
    changed: before !== output,
    answer: before.slice(0, KEPT_CHARS),
    accepted: output.slice(0, KEPT_CHARS),
    by: [...end.by],
    comments,
    at: now,
  };
  const known = held?.record.details === undefined ? {} : (parseJson(held.record.details) as { [field: string]: Json });
  const details = canonicalJson({ ...known, correction: { approvalId, by: [...end.by], changed: record.changed, comments } });
  return { kind: 'succeeded', output, details, also: [{ op: 'create', path: paths.correction(accountId, approvalId), data: record }] };
}

function outcomeOfDeadline(onDeadline: ApprovalRecord['onDeadline']): string | undefined {
  switch (onDeadline) {
    case 'approve':
    case 'reject':
      return onDeadline;
    case 'fail':
    case 'escalate':
      return undefined;
  }
}

/**
 * The one rule for rejections: with `onReject: 'exception'` (the default) the step fails with the business exception `rejected` or
 * `request_changes`, which its `onException` path takes; with `continue` it is an outcome like any other.
 */
function stepOutcome(approval: ApprovalRecord, outcome: string, text: string, output: string): Outcome {
  if (!rejectingOutcomes.has(outcome) || approval.onReject === 'continue') return { kind: 'succeeded', output };
  const code = outcome === 'reject' ? 'rejected' : outcome;
  const error = toErrorRecord(new BusinessException(code, { approvalId: approval.approvalId, outcome }, text));
  return { kind: 'failed', error, output };
}

function decisionOf({ members, submitted }: Look, verdict: VerdictRecord): Json {
  const decision = submitted.find(({ uid }) => uid === verdict.by)?.decision;
  const forWhom = verdict.seats.filter((uid) => uid !== verdict.by);
  return {
    by: verdict.by,
    name: verdict.name,
    outcome: verdict.outcome,
    ...(forWhom.length === 0 ? {} : { forWhom, forWhomNames: forWhom.map((uid) => nameOf(members, uid)) }),
    ...(decision?.comment === undefined ? {} : { comment: decision.comment }),
    at: verdict.decidedAt,
    digest: decision?.digest ?? '',
  };
}

/** What was agreed to: the corrected values of those who decided, else what was shown. */
function valuesOf({ submitted, shown }: Look, end: End): Json | undefined {
  if (end.kind === 'expired') return shown.values;
  const edited = submitted.find(
    ({ uid, decision }) =>
      end.by.includes(uid) && decision.values !== undefined && digest(canonicalJson(parseJson(decision.values))) === end.choice,
  );
  return edited?.decision.values === undefined ? shown.values : parseJson(edited.decision.values);
}

/** Comments on a sensitive request are not for everybody who reads the run's history or gets a mail about it. */
function commentsOf({ approval, submitted }: Look, by: readonly string[]): string {
  if (approval.sensitive) return '';
  const comments = submitted.flatMap(({ uid, decision }) =>
    by.includes(uid) && (decision.comment ?? '') !== '' ? [decision.comment ?? ''] : [],
  );
  return comments.length === 0 ? '' : ` (${comments.join(' / ').slice(0, 500)})`;
}
