import type { DocumentSnapshot, QueryDocumentSnapshot } from 'firebase-admin/firestore';
import { decideApproval } from '../ledger/approvals.ts';
import { attendCommand } from '../ledger/commands.ts';
import { recordChange } from '../ledger/documents.ts';
import type { DocumentChange } from '../ledger/documents.ts';
import { attendEvent } from '../ledger/events.ts';
import { snapshotOf } from '../ledger/firestore-store.ts';
import { heldStep } from '../ledger/steps.ts';
import { attendOutbox } from '../ledger/outbox.ts';
import { attendRequest } from '../ledger/requests.ts';
import { attend } from '../runner/attend.ts';
import { attendCompletion, attendRun } from '../runner/runs.ts';
import type { Runtime } from '../runner/runtime.ts';
import { ringSchema } from '../timers/ring.ts';

export type Params = Readonly<Record<string, string>>;

/** The event carries the step as it was created; absent when it was too large for an event. */
export async function stepCreated(runtime: Runtime, params: Params, data: QueryDocumentSnapshot | undefined): Promise<void> {
  const { accountId = '', runId = '', key = '' } = params;
  const snapshot = data === undefined ? undefined : snapshotOf(data);
  await attend(
    runtime,
    { accountId, runId, key },
    snapshot === undefined ? { kind: 'trigger' } : { kind: 'trigger', held: heldStep(snapshot) },
  );
}

export async function runCreated(runtime: Runtime, { accountId = '', runId = '' }: Params): Promise<void> {
  await attendRun(runtime, { accountId, runId });
}

export async function runEnded(runtime: Runtime, { accountId = '', runId = '' }: Params): Promise<void> {
  await attendCompletion(runtime, { accountId, runId });
}

export async function decisionCreated(runtime: Runtime, { accountId = '', approvalId = '', uid = '' }: Params): Promise<void> {
  await decideApproval(runtime, { accountId, approvalId, uid });
}

export async function commandCreated(runtime: Runtime, { accountId = '', runId = '', commandId = '' }: Params): Promise<void> {
  await attendCommand(runtime, { accountId, runId }, commandId);
}

export async function eventCreated(runtime: Runtime, { accountId = '', eventId = '' }: Params): Promise<void> {
  await attendEvent(runtime, accountId, eventId);
}

/** A path of the team's own data, and whose runs its documents concern. */
export interface Watched {
  readonly pattern: string;
  readonly account: string | undefined;
  readonly tainted: boolean;
}

interface Changed extends Pick<DocumentChange, 'id' | 'path' | 'params' | 'change'> {
  /** Absent when it was too large for an event. */
  readonly after: DocumentSnapshot | undefined;
}

export async function documentChanged(runtime: Runtime, watched: Watched, { after, ...changed }: Changed): Promise<void> {
  const { pattern, tainted, account: accountId = changed.params['accountId'] ?? '' } = watched;
  const document = after === undefined ? (await runtime.store.get([changed.path])).docs[0] : snapshotOf(after);
  const facts = { ...changed, accountId, pattern, tainted };
  // Gone meanwhile, where it had to be read.
  await recordChange(runtime, document === undefined ? { ...facts, change: 'deleted' } : { ...facts, data: document.data });
}

export async function outboxCreated(runtime: Runtime, { accountId = '', id = '' }: Params): Promise<void> {
  await attendOutbox(runtime, accountId, id);
}

export async function requestCreated(runtime: Runtime, { accountId = '', id = '' }: Params): Promise<void> {
  await attendRequest(runtime, accountId, id);
}

export async function doorbell(runtime: Runtime, data: unknown): Promise<void> {
  const ring = ringSchema.parse(data);
  await attend(runtime, ring, { kind: 'doorbell', hop: ring.hop });
}
