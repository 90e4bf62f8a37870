import { parseJson, digest } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import type { Submitted } from '../engine/verdict.ts';
import { agendaSchema, approvalRecordSchema, decisionRecordSchema, panelSchema, verdictRecordSchema } from '../model/approval.ts';
import type { Agenda, ApprovalRecord, Panel, VerdictRecord } from '../model/approval.ts';
import { memberRecordSchema, MEMBERS_MAX } from '../model/member.ts';
import type { MemberRecord } from '../model/member.ts';
import { paths } from '../model/paths.ts';
import { historyReads } from './history.ts';
import { loadPayload } from './payloads.ts';
import { heldStep } from './steps.ts';
import type { Held } from './steps.ts';
import type { Transaction } from './store.ts';

/** What was shown, as stored. */
export interface Shown {
  readonly values?: Json;
}

/** A request with everything that a decision on it depends on, read in one transaction. */
export interface Look {
  readonly approval: ApprovalRecord;
  readonly panels: readonly Panel[];
  readonly agenda: Agenda;
  readonly members: ReadonlyMap<string, MemberRecord>;
  /** Its step, while that waits for this very request. */
  readonly held: Held | undefined;
  readonly accepted: readonly VerdictRecord[];
  /** Every decision, judged or not, in the order of their making. */
  readonly submitted: readonly Submitted[];
  readonly unjudged: readonly Submitted[];
  readonly shown: Shown;
  /** What was shown still is what its digest says. */
  readonly intact: boolean;
}

export interface ApprovalRef {
  readonly accountId: string;
  readonly approvalId: string;
  /** Whose decision brought the caller here, if one did. */
  readonly uid?: string;
}

/** Undefined when there is no such request. Reads in two rounds: the request, and then all that it names. */
export async function readApproval(tx: Transaction, ref: ApprovalRef): Promise<Look | undefined> {
  const { accountId, approvalId } = ref;
  const found = (await tx.get([paths.approval(accountId, approvalId)])).docs[0];
  if (found === undefined) return undefined;
  const approval = approvalRecordSchema.parse(found.data);
  const panels = panelsOf(approval);
  const uids = [...new Set([...approval.eligible, ...approval.answered, ...(ref.uid === undefined ? [] : [ref.uid])])];
  const stepPath = paths.step(accountId, approval.runId, approval.stepKey);
  await tx.get([
    stepPath,
    ...answerPaths(approval, uids),
    ...peopleOf(approval, panels, ref.uid === undefined ? [] : [ref.uid]).map((uid) => paths.member(accountId, uid)),
    ...historyReads(approval),
  ]);
  const { submitted, verdicts } = await readAnswers(tx, approval, uids);
  const judged = new Set(verdicts.map((verdict) => verdict.by));
  const stepDoc = (await tx.get([stepPath])).docs[0];
  const held = stepDoc === undefined ? undefined : heldStep(stepDoc);
  const wait = held?.record.state === 'waiting' ? held.record.wait : undefined;
  const people = peopleOf(
    approval,
    panels,
    submitted.map(({ uid }) => uid),
  );
  return {
    approval,
    panels,
    agenda: agendaSchema.parse(JSON.parse(approval.schedule)),
    members: await readMembers(tx, accountId, people),
    held: wait?.kind === 'approval' && wait.approvalId === approvalId ? held : undefined,
    accepted: verdicts.filter((verdict) => verdict.accepted).sort((a, b) => a.decidedAt - b.decidedAt || (a.by < b.by ? -1 : 1)),
    submitted,
    unjudged: submitted.filter(({ uid }) => !judged.has(uid)),
    ...(await readShown(tx, approval)),
  };
}

function answerPaths({ accountId, approvalId }: ApprovalRecord, uids: readonly string[]): readonly string[] {
  return uids.flatMap((uid) => [paths.decision(accountId, approvalId, uid), paths.verdict(accountId, approvalId, uid)]);
}

/**
 * The decisions and verdicts of everybody who could have made one, read by their names: a query would lock more than these
 * documents, and requests that have nothing to do with each other would wait for each other.
 */
async function readAnswers(tx: Transaction, approval: ApprovalRecord, uids: readonly string[]): Promise<Answers> {
  const { docs } = await tx.get(answerPaths(approval, uids));
  const submitted = uids.flatMap((one, i): Submitted[] => {
    const doc = docs[2 * i];
    return doc === undefined ? [] : [{ uid: one, decision: decisionRecordSchema.parse(doc.data), createdAt: doc.createTime }];
  });
  const verdicts = uids.flatMap((_, i) => (docs[2 * i + 1] === undefined ? [] : [verdictRecordSchema.parse(docs[2 * i + 1]?.data)]));
  return { submitted: submitted.sort((a, b) => a.createdAt - b.createdAt || (a.uid < b.uid ? -1 : 1)), verdicts };
}

interface Answers {
  /** In the order in which the database received them. */
  readonly submitted: readonly Submitted[];
  readonly verdicts: readonly VerdictRecord[];
}

export function panelsOf(approval: Pick<ApprovalRecord, 'approvers'>): readonly Panel[] {
  return panelSchema.array().parse(JSON.parse(approval.approvers));
}

function peopleOf(approval: ApprovalRecord, panels: readonly Panel[], deciders: readonly string[]): readonly string[] {
  const seats = panels.flatMap((panel) => panel.seats);
  const others = [approval.startedBy, approval.claimedBy ?? '', ...deciders].filter((uid) => uid !== '');
  return [...new Set([...seats, ...others])];
}

/** The members' documents, with those of their stand-ins. */
async function readMembers(tx: Transaction, accountId: string, uids: readonly string[]): Promise<ReadonlyMap<string, MemberRecord>> {
  const members = new Map<string, MemberRecord>();
  const add = async (wanted: readonly string[]): Promise<void> => {
    const { docs } = await tx.get(wanted.map((uid) => paths.member(accountId, uid)));
    for (const doc of docs) if (doc !== undefined) members.set(doc.id, memberRecordSchema.parse(doc.data));
  };
  await add(uids);
  const delegates = [...members.values()].flatMap(({ delegation }) =>
    delegation === undefined || members.has(delegation.to) ? [] : [delegation.to],
  );
  await add([...new Set(delegates)]);
  return members;
}

/** All members of an account; the query is bounded by the number that an account may have. */
export async function allMembers(reader: Pick<Transaction, 'query'>, accountId: string): Promise<readonly MemberRecord[]> {
  const { docs } = await reader.query({ from: paths.members(accountId), where: [], limit: MEMBERS_MAX });
  return docs.map((doc) => memberRecordSchema.parse(doc.data));
}

async function readShown(tx: Transaction, approval: ApprovalRecord): Promise<{ shown: Shown; intact: boolean }> {
  const text = await loadPayload(tx, approval, approval.shown).catch((error: unknown) => {
    if (approval.shown.parts === undefined) throw error;
    return undefined;
  });
  if (text === undefined || digest(text) !== approval.digest) return { shown: {}, intact: false };
  return { shown: parseJson(text) as Shown, intact: true };
}
