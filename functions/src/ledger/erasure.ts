import { starterTag, tagOf } from '../engine/tags.ts';
import { KilnError } from '../model/errors.ts';
import { jobRecordSchema, subjectSchema } from '../model/job.ts';
import type { EraseJob, Subject } from '../model/job.ts';
import { memberRecordSchema } from '../model/member.ts';
import { paths } from '../model/paths.ts';
import { runRecordSchema, terminalRunStatuses } from '../model/run.ts';
import type { Runtime } from '../runner/runtime.ts';
import { dueField } from './due.ts';
import { erasePayloads } from './erase-run.ts';
import { changeAudited } from './history.ts';
import { remove } from './store.ts';
import type { Filter, Query } from './store.ts';

const PAGE = 20;
const LIVE_NAMED = 100;
const NOTICES = 200;

/**
 * Begins to erase one person's data: the runs that they started or that are about them, what they wrote in decisions, what was
 * sent to them. The report is the job's document. What the account must keep (who did what, when) stays.
 *
 * @throws KilnError `request.invalid` when nobody is named
 */
export async function startErasure(runtime: Runtime, accountId: string, by: string, input: unknown): Promise<{ readonly jobId: string }> {
  const subject = subjectSchema.parse(input);
  if (traitsOf(subject).length === 0 && subject.email === undefined)
    throw new KilnError('request.invalid', 'name the person: a uid, a mail address, an attribute of runs, or a business key');
  const now = runtime.clock.now();
  const jobId = `job-${runtime.token()}`;
  const job: EraseJob = {
    v: 1,
    accountId,
    jobId,
    kind: 'erase',
    by,
    state: 'running',
    subject,
    stage: 0,
    report: { runs: 0, live: [], decisions: 0, notifications: 0, mails: 0, member: 'none' },
    createdAt: now,
    due: dueField(jobId, now),
  };
  // Whose data it is, is itself such data: the audit names the job only.
  const text = `${by} asked to erase a person’s data`;
  await changeAudited(runtime, { accountId, uid: by }, { kind: 'erasure', text, data: { jobId } }, (tx) =>
    tx.write({ op: 'create', path: paths.job(accountId, jobId), data: job }),
  );
  return { jobId };
}

/** By what the person's runs are found, one after the other. */
function traitsOf({ uid, attribute, businessKey }: Subject): readonly Filter[] {
  return [
    ...(uid === undefined ? [] : [['tags', 'array-contains', starterTag({ kind: 'user', id: uid })] as const]),
    ...(attribute === undefined ? [] : [['tags', 'array-contains', tagOf(attribute.name, attribute.value)] as const]),
    ...(businessKey === undefined ? [] : [['businessKey', '==', businessKey] as const]),
  ];
}

/** The next runs; at the end, what lies outside runs. Cut off, it goes on where it stood. */
export async function attendErasure(runtime: Runtime, job: EraseJob): Promise<void> {
  const trait = traitsOf(job.subject)[job.stage];
  const next = trait === undefined ? await eraseOutside(runtime, job) : await eraseRuns(runtime, job, trait);
  await runtime.store.transaction(async (tx) => {
    const path = paths.job(job.accountId, job.jobId);
    const { docs } = await tx.get([path]);
    if (docs[0] === undefined || jobRecordSchema.parse(docs[0].data).state !== 'running') return;
    tx.write({ op: 'update', path, data: next });
  });
}

async function eraseRuns(runtime: Runtime, job: EraseJob, trait: Filter): Promise<object> {
  const { accountId, report, cursor, stage, jobId } = job;
  const query: Query = {
    from: paths.runs(accountId),
    where: [trait, ['createdAt', '<=', job.createdAt]],
    orderBy: [['createdAt', 'desc']],
    ...(cursor === undefined ? {} : { startAfter: [cursor.createdAt, cursor.runId] }),
    limit: PAGE,
  };
  const { docs } = await runtime.store.query(query);
  const now = runtime.clock.now();
  const live = [...report.live];
  let runs = report.runs;
  for (const doc of docs) {
    const run = runRecordSchema.parse(doc.data);
    if (run.erasedAt !== undefined) continue;
    if (terminalRunStatuses.has(run.status)) {
      await erasePayloads(runtime.store, run, now);
      runs += 1;
    } else if (live.length < LIVE_NAMED && !live.includes(run.runId)) live.push(run.runId);
  }
  const last = docs.at(-1);
  const moved =
    last === undefined || docs.length < PAGE
      ? { stage: stage + 1, cursor: remove }
      : { cursor: { createdAt: Number(last.data['createdAt']), runId: last.id } };
  return { report: { ...report, runs, live }, ...moved, due: dueField(jobId, now) };
}

async function eraseOutside(runtime: Runtime, { accountId, subject, report }: EraseJob): Promise<object> {
  const { uid, email } = subject;
  const { store } = runtime;
  const now = runtime.clock.now();
  let { decisions, notifications, mails, member } = report;
  if (uid !== undefined) {
    const found = await store.query({ from: { group: 'decisions' }, where: [['by', '==', uid]], limit: NOTICES });
    for (const { path, data } of found.docs) {
      if (data['accountId'] !== accountId || (data['comment'] === undefined && data['values'] === undefined)) continue;
      await store.commit([{ op: 'update', path, data: { comment: remove, values: remove } }]);
      decisions += 1;
    }
    notifications += await deleteWhere(runtime, `${paths.account(accountId)}/notifications`, ['to', '==', uid]);
    member = await eraseMember(runtime, accountId, uid);
  }
  if (email !== undefined) mails += await deleteWhere(runtime, `${paths.account(accountId)}/outbox`, ['to', '==', email]);
  return { report: { ...report, decisions, notifications, mails, member }, state: 'done', endedAt: now, due: remove };
}

async function deleteWhere({ store }: Runtime, collection: string, filter: Filter): Promise<number> {
  for (let deleted = 0; ;) {
    const { docs } = await store.query({ from: collection, where: [filter], limit: NOTICES });
    if (docs.length > 0) await store.commit(docs.map(({ path }) => ({ op: 'delete', path })));
    deleted += docs.length;
    if (docs.length < NOTICES) return deleted;
  }
}

/** Who still works here keeps the name: dismiss them first. */
async function eraseMember({ store, clock }: Runtime, accountId: string, uid: string): Promise<EraseJob['report']['member']> {
  const path = paths.member(accountId, uid);
  const { docs } = await store.get([path]);
  if (docs[0] === undefined) return 'none';
  if (memberRecordSchema.parse(docs[0].data).active) return 'still_active';
  await store.commit([
    { op: 'update', path, data: { name: 'erased', email: '', delegation: remove, updatedAt: clock.now(), updatedBy: 'system' } },
  ]);
  return 'erased';
}
