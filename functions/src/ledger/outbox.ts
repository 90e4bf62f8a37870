import { KilnError, toErrorRecord } from '../model/errors.ts';
import { outboxRecordSchema } from '../model/outbox.ts';
import type { OutboxRecord } from '../model/outbox.ts';
import { paths } from '../model/paths.ts';
import { nextDelayMs, retryPolicySchema } from '../engine/retry.ts';
import type { Runtime } from '../runner/runtime.ts';
import { deliverAlert } from './alerts.ts';
import { dueField } from './due.ts';
import { remove, StoreConflict } from './store.ts';

const LEASE_MS = 60_000;
/** A delivery is tried for about a day. */
const policy = retryPolicySchema.parse({ maxAttempts: 40, baseMs: 5_000, capMs: 60 * 60_000 });

/** How one kind of delivery is made; throws an error record's source when it fails. */
export type Deliver = (runtime: Runtime, record: OutboxRecord) => Promise<void>;

/**
 * Makes a delivery that is due. Claimed first, so two callers never send it at the same time. When the process dies between
 * sending and recording, it is sent again: receivers de-duplicate by the id that every delivery carries.
 */
export async function attendOutbox(runtime: Runtime, accountId: string, id: string): Promise<void> {
  const path = paths.outbox(accountId, id);
  const { docs } = await runtime.store.get([path]);
  if (docs[0] === undefined) return;
  const record = outboxRecordSchema.parse(docs[0].data);
  const now = runtime.clock.now();
  const busy = record.state === 'sending' && now < (record.leaseUntil ?? 0);
  if (record.state === 'sent' || record.state === 'failed' || busy || now < (record.nextAt ?? 0)) return;
  const attempt = record.attempt + 1;
  let fence: string;
  try {
    const claim = { state: 'sending', attempt, leaseUntil: now + LEASE_MS, due: dueField(id, now + LEASE_MS) };
    fence = (await runtime.store.commit([{ op: 'update', path, data: claim, ifUpdateTime: docs[0].updateTime }])).updateTime;
  } catch (error) {
    if (error instanceof StoreConflict) return;
    throw error;
  }
  const result = await deliveryResult(runtime, { ...record, attempt });
  await runtime.store.commit([{ op: 'update', path, data: result, ifUpdateTime: fence }]);
}

async function deliveryResult(runtime: Runtime, record: OutboxRecord): Promise<object> {
  const deliver = record.kind === 'alert' ? deliverAlert : runtime.deliveries[record.kind];
  try {
    if (deliver === undefined) throw new KilnError('request.invalid', `no delivery of kind "${record.kind}" is configured`);
    await deliver(runtime, record);
    return { state: 'sent', sentAt: runtime.clock.now(), due: remove, leaseUntil: remove, error: remove };
  } catch (thrown) {
    const error = toErrorRecord(thrown);
    // Only a refusal that says so is final: a hiccup of the database or the network says nothing about the delivery.
    const refused = thrown instanceof KilnError && error.class === 'not_retryable';
    const again = !refused && record.attempt < policy.maxAttempts;
    if (!again) return { state: 'failed', error, due: remove, leaseUntil: remove };
    const nextAt = runtime.clock.now() + nextDelayMs(policy, record.attempt, runtime.random, error.retryAfterMs);
    return { state: 'queued', error, nextAt, due: dueField(record.id, nextAt), leaseUntil: remove };
  }
}

/** Sends a delivery once more: one that failed, or one that the receiver lost. It keeps its id, by which receivers de-duplicate. */
export async function resendDelivery(runtime: Runtime, accountId: string, id: string): Promise<void> {
  const path = paths.outbox(accountId, id);
  const { docs } = await runtime.store.get([path]);
  if (docs[0] === undefined) throw new KilnError('request.invalid', `there is no delivery "${id}" in this account`);
  const { state, body } = outboxRecordSchema.parse(docs[0].data);
  if (state !== 'sent' && state !== 'failed') throw new KilnError('request.invalid', `the delivery is ${state}; it is still being tried`);
  if (body === '') throw new KilnError('request.invalid', 'the delivery never came about; see its error');
  const data = { state: 'queued', attempt: 0, nextAt: remove, sentAt: remove, error: remove, due: dueField(id, runtime.clock.now()) };
  await runtime.store.commit([{ op: 'update', path, data, ifUpdateTime: docs[0].updateTime }]);
  await attendOutbox(runtime, accountId, id);
}
