import { z } from 'zod';
import { nextLook, timeAfter } from '../engine/agenda.ts';
import { businessCalendarSchema } from '../engine/calendar.ts';
import { groupsOf, memberAt, possibleDeciders, presentDeciders, seatsOf } from '../engine/eligibility.ts';
import { parseDuration } from '../engine/duration.ts';
import { canonicalJson, digest } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import type { StepTypeFacts } from '../engine/output-schema.ts';
import type { Problem } from '../engine/problem.ts';
import { validateAgainst } from '../engine/schema-check.ts';
import { OPENING } from '../engine/template-syntax.ts';
import { approversSchema, evidenceSchema, quorumSchema, rejectingOutcomes, SEATS_MAX } from '../model/approval.ts';
import type { Agenda, ApprovalRecord, Approvers, Panel, QuorumRule } from '../model/approval.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import type { MemberRecord } from '../model/member.ts';
import { paths } from '../model/paths.ts';
import { askText, noticeWrites } from '../ledger/approval-notices.ts';
import { storePayload } from '../ledger/payloads.ts';
import { increment } from '../ledger/store.ts';
import type { EnterContext, Entered, WaitStepType } from './step-type.ts';

const duration = z.union([z.number(), z.string()]);
const outcomeName = z.string().regex(/^[a-z][a-z0-9_]{0,39}$/, 'an outcome is a word of small letters, digits and "_"');

const schema = z.strictObject({
  type: z.literal('approval'),
  title: z.string().min(1).max(300),
  /** What approving does, in words: "pays CHF 4 200 to Muster AG". */
  effect: z.string().max(1_000).optional(),
  evidence: z.array(evidenceSchema).max(50).optional(),
  /** Who may decide. Users by uid or e-mail address. */
  approvers: approversSchema.optional(),
  quorum: quorumSchema.optional(),
  /** What a rejection does: `veto` (default) ends it, `majority` ends it when most reject, `collect` hears everybody first. */
  rejection: z.enum(['veto', 'majority', 'collect']).optional(),
  /** Whether the starter of the run is kept from deciding. Default true. */
  fourEyes: z.boolean().optional(),
  /** `exception` (default): a rejection takes the path `onException.rejected`. `continue`: it is an outcome like any other. */
  onReject: z.enum(['exception', 'continue']).optional(),
  outcomes: z.array(outcomeName).min(1).max(20).optional(),
  /** Outcomes that need a comment. Default: `reject` and `request_changes`. */
  commentRequired: z.array(outcomeName).optional(),
  /** JSON Schema of values that the approver may correct. */
  form: z.json().optional(),
  /** The values to correct. */
  values: z.json().optional(),
  /** Default 7 days. */
  deadline: duration.optional(),
  onDeadline: z.enum(['approve', 'reject', 'fail', 'escalate']).optional(),
  /** How long after asking. */
  reminders: z.array(duration).max(20).optional(),
  escalation: z
    .array(z.strictObject({ after: duration, approvers: approversSchema, quorum: quorumSchema.optional() }))
    .max(10)
    .optional(),
  /** Deadline, reminders and escalations count business hours only: two days of eight hours are "16h". */
  calendar: businessCalendarSchema.optional(),
  claimable: z.boolean().optional(),
});
type Config = z.infer<typeof schema>;

const DEFAULT_DEADLINE = '7d';
const DEFAULT_OUTCOMES = ['approve', 'reject'];

export const approval: WaitStepType<Config> & Pick<StepTypeFacts, 'schemaFields' | 'durationFields' | 'outputSchema' | 'publicFields'> = {
  type: 'approval',
  title: 'Approval',
  description: 'Asks people to decide, and waits for them, holding no resources.',
  kind: 'wait',
  schema,
  literalFields: ['form', 'calendar'],
  publicFields: ['title', 'effect'],
  schemaFields: ['form'],
  durationFields: ['deadline'],
  outputSchema: (config) => outputSchema(config['form']),
  preflight: (config, { place }) =>
    problemsOf(config).map((message): Problem => ({ path: place.step.id, code: 'definition.invalid', message })),
  enter,
};

/** What later steps see. The shape of `values` is that of the form. */
function outputSchema(form: Json | undefined): Json {
  return {
    type: 'object',
    properties: {
      outcome: { type: 'string' },
      byDeadline: { type: 'boolean' },
      decisions: { type: 'array' },
      values: form ?? true,
      digest: { type: 'string' },
      requestedAt: { type: 'integer' },
      decidedAt: { type: 'integer' },
      waitedMs: { type: 'integer' },
    },
    additionalProperties: false,
  };
}

function problemsOf(config: Config): readonly string[] {
  const outcomes = config.outcomes ?? DEFAULT_OUTCOMES;
  const groups = typeof config.quorum === 'object' && 'groups' in config.quorum;
  const unknown = (config.commentRequired ?? []).filter((outcome) => !outcomes.includes(outcome));
  const onDeadline = config.onDeadline ?? 'fail';
  return [
    ...(groups || namesSomebody(config.approvers)
      ? []
      : ['say who may decide: approvers with users, roles or departments, or a quorum of groups']),
    ...(outcomes.some((outcome) => outcome !== 'abstain' && !rejectingOutcomes.has(outcome))
      ? []
      : ['at least one outcome has to agree, such as "approve"']),
    ...(new Set(outcomes).size === outcomes.length ? [] : ['an outcome is named twice']),
    ...unknown.map((outcome) => `commentRequired names "${outcome}", which is not among the outcomes`),
    ...((onDeadline === 'approve' || onDeadline === 'reject') && !outcomes.includes(onDeadline)
      ? [`onDeadline is "${onDeadline}", which is not among the outcomes`]
      : []),
    ...(onDeadline === 'escalate' && (config.escalation ?? []).length === 0
      ? ['onDeadline is "escalate", but there is no escalation']
      : []),
    ...(config.form !== undefined && config.values === undefined ? ['a form corrects values: give "values"'] : []),
    ...(config.calendar !== undefined && config.deadline === undefined
      ? ['a calendar counts business hours: state the deadline in them, such as "16h"']
      : []),
    ...badTimes(config),
  ];
}

/** Times in lists, which pre-flight does not check by itself. */
function badTimes(config: Config): readonly string[] {
  const times = [...(config.reminders ?? []), ...(config.escalation ?? []).map(({ after }) => after)];
  return times.flatMap((time) => {
    if (typeof time === 'string' && time.includes(OPENING)) return [];
    try {
      return parseDuration(time) > 0 ? [] : [`${JSON.stringify(time)} is no time after the request`];
    } catch (error) {
      return [toErrorRecord(error).message];
    }
  });
}

function namesSomebody(approvers: Approvers | undefined): boolean {
  return [approvers?.users, approvers?.roles, approvers?.departments].some((list) => list !== undefined && list.length > 0);
}

/** Asks on the engine's behalf: what the decision is for, and what exactly it allows. */
export type ApprovalPurpose = Pick<ApprovalRecord, 'purpose' | 'subject'>;

function enter(context: EnterContext<Config>): Promise<Entered> {
  return enterApproval(context);
}

export async function enterApproval(context: EnterContext<Config>, purpose: ApprovalPurpose = {}): Promise<Entered> {
  const { ref, config, documentId, now, services } = context;
  const problem = problemsOf(config)[0];
  if (problem !== undefined) throw new KilnError('request.invalid', problem);
  const everybody = (await services.members?.list(ref.accountId)) ?? [];
  const [startedBy = '', ...alsoStartedBy] = await context.starters();
  const rule = { fourEyes: config.fourEyes ?? true, startedBy, alsoStartedBy };
  const panel = firstPanel(config, everybody, now, rule);
  const agenda = agendaOf(config, everybody, now);
  const deadlineAt = timeAfter(now, agenda.periodMs, agenda.calendar);
  const members = new Map(everybody.map((member) => [member.uid, member] as const));
  const shown = shownText(config, purpose);
  const sensitive = config.sensitive === true;
  const stored = storePayload(ref, `${ref.key}~shown`, shown, sensitive ? { sensitive, approvalId: documentId } : undefined);
  const outcomes = config.outcomes ?? DEFAULT_OUTCOMES;
  const record: ApprovalRecord = {
    v: 2,
    accountId: ref.accountId,
    approvalId: documentId,
    runId: ref.runId,
    stepKey: ref.key,
    workflowId: context.run.workflowId,
    status: 'pending',
    title: config.title,
    ...(config.effect === undefined ? {} : { effect: config.effect }),
    shown: stored.payload,
    sensitive,
    digest: digest(shown),
    eligible: [...possibleDeciders([panel], members, { from: now, to: deadlineAt }, rule)],
    answered: [],
    approvers: JSON.stringify([panel]),
    quorum: JSON.stringify(panel.quorum),
    rejection: config.rejection ?? 'veto',
    ...rule,
    ...purpose,
    onReject: config.onReject ?? 'exception',
    outcomes,
    commentRequired: config.commentRequired ?? outcomes.filter((outcome) => rejectingOutcomes.has(outcome)),
    ...(config.form === undefined ? {} : { form: canonicalJson(config.form) }),
    claimable: config.claimable ?? false,
    requestedAt: now,
    deadlineAt,
    onDeadline: config.onDeadline ?? 'fail',
    schedule: JSON.stringify(agenda),
    level: 0,
  };
  const asked = { kind: 'approval', n: 0, to: presentDeciders([panel], members, now, rule), text: askText(record) } as const;
  return {
    wait: { kind: 'approval', approvalId: documentId },
    wakeAt: nextLook(agenda, deadlineAt),
    writes: [
      { op: 'create', path: paths.approval(ref.accountId, documentId), data: record },
      ...stored.writes,
      { op: 'update', path: paths.run(ref.accountId, ref.runId), data: { pendingApprovals: increment(1) } },
      ...noticeWrites(record, members, asked, now),
    ],
    details: { approvalId: documentId, asked: [...panel.seats] },
  };
}

/** Exactly what is shown, as one text: its digest is what every decision is bound to. */
function shownText(config: Config, { purpose }: ApprovalPurpose): string {
  for (const item of config.evidence ?? []) {
    for (const link of item.kind === 'links' ? item.links : []) {
      if (!/^(https?:\/\/|mailto:|\/(?!\/))/i.test(link.url))
        throw new KilnError('request.invalid', `the link "${link.label}" is no web address`);
    }
  }
  // What is to be corrected need not be right.
  if (config.form !== undefined && purpose !== 'correction') {
    const faults = validateAgainst(config.form, config.values ?? null);
    if (faults[0] !== undefined)
      throw new KilnError(faults[0].code, `the values to correct do not fit the form: ${faults[0].path} ${faults[0].message}`, {
        data: faults,
      });
  }
  const { title, effect, evidence, form, values } = config;
  return canonicalJson({ title, effect, evidence: evidence ?? [], form, values });
}

type Rule = Parameters<typeof seatsOf>[3];

/** Resolves who is asked. Too few people for the rule is an error now, not a deadline in a week. */
function firstPanel(config: Config, everybody: readonly MemberRecord[], now: number, rule: Rule): Panel {
  const approvers = withUids(config.approvers ?? {}, everybody);
  const quorum = quorumWithUids(config.quorum ?? 'any', everybody);
  const seats = seatsOf({ approvers, quorum }, everybody, now, rule);
  const fourEyes = rule.fourEyes && rule.startedBy !== '' ? ' (its starter does not count: four-eyes rule)' : '';
  if (seats.length === 0) throw new KilnError('approval.no_eligible', `no active member may decide on "${config.title}"${fourEyes}`);
  if (seats.length > SEATS_MAX)
    throw new KilnError('approval.too_many', `"${config.title}" would ask ${seats.length} people; the limit is ${SEATS_MAX}`);
  const short = shortage(quorum, seats, everybody, now);
  if (short !== undefined) throw new KilnError('approval.no_eligible', `"${config.title}" ${short}${fourEyes}`);
  return { approvers, quorum, seats: [...seats] };
}

function shortage(quorum: QuorumRule, seats: readonly string[], everybody: readonly MemberRecord[], now: number): string | undefined {
  if (typeof quorum === 'string') return undefined;
  if ('quorum' in quorum)
    return seats.length >= quorum.quorum ? undefined : `needs ${quorum.quorum} people, but only ${seats.length} may decide`;
  for (const group of quorum.groups) {
    const inGroup = everybody.filter(
      (member) => seats.includes(member.uid) && groupsOf(quorum, member.uid, memberAt(member, now)).includes(group.name),
    );
    if (inGroup.length < group.min) return `needs ${group.min} of "${group.name}", but only ${inGroup.length} may decide`;
  }
  return undefined;
}

/** Definitions name people by e-mail address, records by uid. */
function withUids(approvers: Approvers, everybody: readonly MemberRecord[]): Approvers {
  const uidOf = (name: string): string => everybody.find((member) => member.email.toLowerCase() === name.toLowerCase())?.uid ?? name;
  return {
    ...approvers,
    ...(approvers.users === undefined ? {} : { users: approvers.users.map(uidOf) }),
    ...(approvers.except === undefined ? {} : { except: approvers.except.map(uidOf) }),
  };
}

function quorumWithUids(quorum: QuorumRule, everybody: readonly MemberRecord[]): QuorumRule {
  if (typeof quorum === 'string' || !('groups' in quorum)) return quorum;
  return { groups: quorum.groups.map((group) => ({ ...group, approvers: withUids(group.approvers, everybody) })) };
}

function agendaOf(config: Config, everybody: readonly MemberRecord[], now: number): Agenda {
  const calendar = config.calendar === undefined ? undefined : JSON.stringify(config.calendar);
  const periodMs = positive(config.deadline ?? DEFAULT_DEADLINE, 'deadline');
  const deadlineAt = timeAfter(now, periodMs, calendar);
  const reminders = (config.reminders ?? []).map((after, i) => timeAfter(now, positive(after, `reminders[${i}]`), calendar));
  const ladder = (config.escalation ?? []).map(({ after, approvers, quorum }, i) => ({
    at: timeAfter(now, positive(after, `escalation[${i}].after`), calendar),
    approvers: withUids(approvers, everybody),
    quorum: quorumWithUids(quorum ?? 'any', everybody),
  }));
  return {
    reminders: reminders.filter((at) => at < deadlineAt).sort((a, b) => a - b),
    ladder: ladder.sort((a, b) => a.at - b.at),
    periodMs,
    ...(calendar === undefined ? {} : { calendar }),
    reminded: 0,
    alerted: false,
  };
}

function positive(value: number | string, path: string): number {
  const ms = parseDuration(value, path);
  if (ms === 0) throw new KilnError('duration.invalid', `${path} is 0; give a time above 0`);
  return ms;
}
