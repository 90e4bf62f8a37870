import { approvalRecordSchema, verdictRecordSchema } from '../model/approval.ts';
import type { ApprovalRecord, VerdictRecord } from '../model/approval.ts';
import { decisionDocument } from '../model/client-documents.ts';
import type { DecisionInput } from '../model/client-documents.ts';
import type { MemberRecord } from '../model/member.ts';
import { paths } from '../model/paths.ts';
import { runRecordSchema } from '../model/run.ts';
import type { RunRecord } from '../model/run.ts';
import { stepRecordSchema } from '../model/step.ts';
import type { StepRecord } from '../model/step.ts';
import { liveSteps } from '../ledger/runs.ts';
import type { Store } from '../ledger/store.ts';
import { attend } from '../runner/attend.ts';
import { attendRun, startRun } from '../runner/runs.ts';
import type { Runtime } from '../runner/runtime.ts';
import { givenDefinitions, memoryRuntime } from './memory-runtime.ts';
import { ACCOUNT } from './person.ts';

type Definitions = Readonly<Record<string, unknown>>;

/** A runtime for workflows of people: no actions, no code workflows, definitions handed in. */
export function officeRuntime(base: Pick<Runtime, 'store' | 'clock' | 'doorbells'>, definitions: Definitions): Runtime {
  return memoryRuntime(base, { definitions: givenDefinitions(definitions) });
}

/** Adds members, as an admin's invitation would. */
export async function hire(store: Store, people: readonly MemberRecord[]): Promise<void> {
  await store.commit(people.map((member) => ({ op: 'set', path: paths.member(member.accountId, member.uid), data: member })));
}

/** Starts a run and attends whatever is ready, without triggers, until all wait. */
export async function begin(
  runtime: Runtime,
  workflowId: string,
  options: { runId: string; by?: string; accountId?: string; input?: unknown },
): Promise<void> {
  const { runId, by = 'starter', accountId = ACCOUNT, input = null } = options;
  await startRun(runtime, { accountId, workflowId, runId, input: input as never, startedBy: { kind: 'user', id: by } });
  await attendRun(runtime, { accountId, runId });
  await attendReady(runtime, runId, accountId);
}

/** What the creation triggers of a run's steps would do, until nothing is ready. */
export async function attendReady(runtime: Runtime, runId: string, accountId = ACCOUNT): Promise<void> {
  for (;;) {
    const { docs } = await runtime.store.query(liveSteps({ accountId, runId }));
    const ready = docs.map((doc) => stepRecordSchema.parse(doc.data)).filter((step) => step.state === 'ready');
    if (ready.length === 0) return;
    for (const step of ready) await attend(runtime, step, { kind: 'reconciler' });
  }
}

export async function approvalsOf(store: Store, runId: string, accountId = ACCOUNT): Promise<readonly ApprovalRecord[]> {
  const { docs } = await store.query({ from: paths.approvals(accountId), where: [['runId', '==', runId]], limit: 500 });
  return docs.map((doc) => approvalRecordSchema.parse(doc.data)).sort((a, b) => (a.stepKey < b.stepKey ? -1 : 1));
}

/** The one request of a run. */
export async function approvalOf(store: Store, runId: string, accountId = ACCOUNT): Promise<ApprovalRecord> {
  const [only, ...others] = await approvalsOf(store, runId, accountId);
  if (only === undefined || others.length > 0) throw new Error(`run ${runId} has ${others.length + (only === undefined ? 0 : 1)} requests`);
  return only;
}

/** Creates a decision, as the person's browser would (the rules are tested by themselves). */
export async function submit(
  store: Store,
  approval: ApprovalRecord,
  by: string,
  outcome: string,
  fields: Partial<DecisionInput> = {},
): Promise<void> {
  const { accountId, approvalId, digest } = approval;
  const document = decisionDocument({ accountId, approvalId, by, outcome, digest, at: 0, ...fields });
  await store.commit([{ op: 'create', path: paths.decision(accountId, approvalId, by), data: document }]);
}

export async function verdictOn(store: Store, approval: ApprovalRecord, uid: string): Promise<VerdictRecord | undefined> {
  const { docs } = await store.get([paths.verdict(approval.accountId, approval.approvalId, uid)]);
  return docs[0] === undefined ? undefined : verdictRecordSchema.parse(docs[0].data);
}

export async function stepOf(store: Store, runId: string, key: string, accountId = ACCOUNT): Promise<StepRecord | undefined> {
  const { docs } = await store.get([paths.step(accountId, runId, key)]);
  return docs[0] === undefined ? undefined : stepRecordSchema.parse(docs[0].data);
}

export async function runOf(store: Store, runId: string, accountId = ACCOUNT): Promise<RunRecord> {
  const { docs } = await store.get([paths.run(accountId, runId)]);
  if (docs[0] === undefined) throw new Error(`there is no run ${runId}`);
  return runRecordSchema.parse(docs[0].data);
}
