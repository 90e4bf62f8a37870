import { parseDuration } from '../engine/duration.ts';
import { digest } from '../engine/json.ts';
import { alertRecordSchema } from '../model/alert.ts';
import type { AlertKind, AlertRecord } from '../model/alert.ts';
import type { Definition, StepConfig } from '../model/definition.ts';
import { memberRecordSchema, MEMBERS_MAX } from '../model/member.ts';
import type { MemberRecord } from '../model/member.ts';
import type { OutboxRecord } from '../model/outbox.ts';
import { paths } from '../model/paths.ts';
import { runRecordSchema, terminalRunStatuses } from '../model/run.ts';
import { stepRecordSchema } from '../model/step.ts';
import type { Runtime } from '../runner/runtime.ts';
import { dueField } from './due.ts';
import { newDelivery, newNotification, TOLD_RETENTION_MS } from './told.ts';
import { StoreConflict } from './store.ts';
import type { Store, Transaction, Write } from './store.ts';

const ESCALATE_AFTER_MS = 4 * 60 * 60_000;

/** A breach as whoever finds it knows it. `breach` tells it from the next one of its kind. */
export interface Breach {
  readonly accountId: string;
  readonly runId: string;
  readonly workflowId: string;
  readonly version: number;
  readonly kind: AlertKind;
  readonly breach: string;
  readonly stepKey?: string;
  readonly businessState?: string;
  readonly title: string;
  readonly text: string;
}

export function alertIdOf({ runId, kind, breach }: Pick<Breach, 'runId' | 'kind' | 'breach'>): string {
  return digest(`${runId}/${kind}/${breach}`).slice(0, 32);
}

/**
 * An alert and its delivery, for the commit that makes the breach true. Created once by id: finding a breach again tells nobody
 * again.
 */
export function alertWrites(breach: Breach, now: number): readonly Write[] {
  const { breach: _breach, ...facts } = breach;
  const { accountId, runId } = breach;
  const alertId = alertIdOf(breach);
  const link = `/runs/${accountId}/${runId}${breach.stepKey === undefined ? '' : `?step=${encodeURIComponent(breach.stepKey)}`}`;
  const alert: AlertRecord = { v: 1, alertId, ...facts, link, state: 'open', level: 0, openedAt: now, expiresAt: now + TOLD_RETENTION_MS };
  return [
    { op: 'create', path: paths.alert(accountId, alertId), data: alert },
    { op: 'create', path: paths.outbox(accountId, alertId), data: deliveryOf(alert, 0, now) },
  ];
}

/** Raises an alert unless it was raised before. */
export async function raiseAlert(store: Store, breach: Breach, now: number): Promise<boolean> {
  try {
    await store.commit(alertWrites(breach, now));
    return true;
  } catch (error) {
    if (error instanceof StoreConflict) return false;
    throw error;
  }
}

/** The same as part of another commit; in a transaction before its first write. */
export async function alertOnce(reader: Pick<Transaction, 'get'>, breach: Breach, now: number): Promise<readonly Write[]> {
  const { docs } = await reader.get([paths.alert(breach.accountId, alertIdOf(breach))]);
  return docs[0] === undefined ? alertWrites(breach, now) : [];
}

function deliveryOf(alert: AlertRecord, level: number, now: number, at = now): OutboxRecord {
  const id = level === 0 ? alert.alertId : `${alert.alertId}-${level}`;
  const { accountId, alertId, runId } = alert;
  const delivery = newDelivery({ accountId, id, kind: 'alert', to: alertId, body: String(level), runId }, now);
  return at === now ? delivery : { ...delivery, nextAt: at, due: dueField(runId, at) };
}

/** Turns an alert into a notification and a mail for each person, and a webhook; and later passes it on if nobody took it. */
export async function deliverAlert(runtime: Runtime, delivery: OutboxRecord): Promise<void> {
  const path = paths.alert(delivery.accountId, delivery.to);
  const { docs } = await runtime.store.get([path]);
  if (docs[0] === undefined) return;
  const alert = alertRecordSchema.parse(docs[0].data);
  const level = Number(delivery.body);
  if (alert.state !== 'open') return;
  const now = runtime.clock.now();
  if (level > 0 && !(await stillTrue(runtime.store, alert))) {
    await runtime.store.commit([{ op: 'update', path, data: { state: 'over', endedAt: now } }]);
    return;
  }
  const definition = await definitionOf(runtime, alert);
  const people = recipients(alert, definition, await activeMembers(runtime.store, alert.accountId), level);
  const writes = people.flatMap((member) => noticeWrites(alert, member, level, now));
  const escalateAfter = definition?.alerts?.escalateAfter;
  const next = now + (escalateAfter === undefined ? ESCALATE_AFTER_MS : parseDuration(escalateAfter, 'alerts.escalateAfter'));
  const follow: Write[] =
    level === 0
      ? [
          ...webhookWrites(alert, definition, now),
          created(paths.outbox(alert.accountId, `${alert.alertId}-1`), deliveryOf(alert, 1, now, next)),
        ]
      : [{ op: 'update', path, data: { level } }];
  await createMissing(runtime.store, [...writes, ...follow]);
}

function created(path: string, data: object): Write {
  return { op: 'create', path, data };
}

/** Delivered twice, it is told once: what exists is left as it is. */
async function createMissing(store: Store, writes: readonly Write[]): Promise<void> {
  await store.transaction(async (tx) => {
    const { docs } = await tx.get(writes.map(({ path }) => path));
    writes.forEach((write, i) => {
      if (write.op !== 'create' || docs[i] === undefined) tx.write(write);
    });
  });
}

async function definitionOf(runtime: Runtime, { accountId, workflowId, version }: AlertRecord): Promise<Definition | undefined> {
  try {
    return (await runtime.definitions.get(accountId, workflowId, version)).definition;
  } catch {
    // A workflow in code, or one that is gone: the operators are told.
    return undefined;
  }
}

async function activeMembers(store: Store, accountId: string): Promise<readonly MemberRecord[]> {
  const { docs } = await store.query({ from: paths.members(accountId), where: [['active', '==', true]], limit: MEMBERS_MAX });
  return docs.map((doc) => memberRecordSchema.parse(doc.data));
}

/** Level 0: the owners of the step and the workflow and those the workflow names, else the operators. Level 1: the admins. */
export function recipients(
  alert: Pick<AlertRecord, 'stepKey'>,
  definition: Definition | undefined,
  members: readonly MemberRecord[],
  level: number,
): readonly MemberRecord[] {
  const withRole = (role: MemberRecord['roles'][number]): readonly MemberRecord[] => members.filter(({ roles }) => roles.includes(role));
  const admins = withRole('admin');
  if (level > 0) return admins;
  const names = [ownerOfStep(definition?.steps ?? [], alert.stepKey), definition?.owner, ...(definition?.alerts?.to ?? [])];
  const named = members.filter(({ uid, email, departments }) =>
    names.some((name) => name !== undefined && (name === uid || name === email || departments.includes(name))),
  );
  if (named.length > 0) return named;
  const operators = withRole('operator');
  return operators.length > 0 ? operators : admins;
}

/** The step's owner, else that of the nearest step around it. */
function ownerOfStep(steps: readonly StepConfig[], key: string | undefined): string | undefined {
  const ids = new Set(key?.match(/[A-Za-z][A-Za-z0-9_-]*/g) ?? []);
  const owners: string[] = [];
  const stack: unknown[] = [...steps];
  while (stack.length > 0) {
    const next = stack.pop();
    if (typeof next !== 'object' || next === null) continue;
    if (Array.isArray(next)) stack.push(...(next as unknown[]));
    else {
      if ('id' in next && typeof next.id === 'string' && ids.has(next.id) && 'owner' in next && typeof next.owner === 'string') {
        // Deeper steps come later in the key.
        owners[[...ids].indexOf(next.id)] = next.owner;
      }
      stack.push(...Object.values(next));
    }
  }
  return owners.findLast((owner) => owner !== undefined);
}

function noticeWrites(alert: AlertRecord, member: MemberRecord, level: number, now: number): readonly Write[] {
  const { accountId, runId, link } = alert;
  const id = digest(`${alert.alertId}/${level}/${member.uid}`).slice(0, 32);
  const title = level === 0 ? alert.title : `Still open: ${alert.title}`;
  const shared = { accountId, id, link, runId } as const;
  const notification = newNotification({ ...shared, to: member.uid, kind: 'alert', title, body: alert.text }, now);
  const body = `Hello ${member.name === '' ? member.email : member.name},\n\n${alert.text}\n`;
  const mail = newDelivery({ ...shared, kind: 'mail', to: member.email, subject: title, body }, now);
  const written = created(paths.notification(accountId, id), notification);
  return member.email === '' ? [written] : [written, created(paths.outbox(accountId, id), mail)];
}

function webhookWrites(alert: AlertRecord, definition: Definition | undefined, now: number): readonly Write[] {
  const webhook = definition?.alerts?.webhook;
  if (webhook === undefined) return [];
  const { accountId, alertId, kind, runId, workflowId, stepKey, title, text, openedAt } = alert;
  const id = `${alertId}-webhook`;
  const body = JSON.stringify({ type: 'alert', alertId, kind, accountId, runId, workflowId, stepKey, title, text, openedAt });
  const secret = webhook.secret === undefined ? {} : { secret: webhook.secret };
  const data = newDelivery({ accountId, id, kind: 'webhook', to: webhook.url, body, ...secret, runId }, now);
  return [created(paths.outbox(accountId, id), data)];
}

/** Whether what an alert says still is so. */
async function stillTrue(store: Store, alert: AlertRecord): Promise<boolean> {
  const { accountId, runId, stepKey } = alert;
  const wanted = [paths.run(accountId, runId), ...(stepKey === undefined ? [] : [paths.step(accountId, runId, stepKey)])];
  const { docs } = await store.get(wanted);
  if (docs[0] === undefined) return false;
  const run = runRecordSchema.parse(docs[0].data);
  const ended = terminalRunStatuses.has(run.status);
  switch (alert.kind) {
    case 'unresolved':
    case 'compensation':
      return docs[1] !== undefined && stepRecordSchema.parse(docs[1].data).state === 'unresolved';
    case 'mismatch':
      return run.reconciliation === 'mismatch';
    case 'state_overdue':
      return !ended && run.businessState === alert.businessState;
    case 'stuck':
    case 'run_overdue':
      return !ended;
    case 'failed':
      return run.status === 'failed';
  }
}

/** Somebody has seen it: it is not passed on. */
export async function acknowledgeAlert(store: Store, accountId: string, alertId: string, by: string): Promise<boolean> {
  return store.transaction(async (tx) => {
    const path = paths.alert(accountId, alertId);
    const { docs } = await tx.get([path]);
    if (docs[0] === undefined || alertRecordSchema.parse(docs[0].data).state !== 'open') return false;
    tx.write({ op: 'update', path, data: { state: 'acknowledged', by } });
    return true;
  });
}
