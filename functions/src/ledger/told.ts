import type { NotificationRecord, OutboxRecord } from '../model/outbox.ts';
import { dueField } from './due.ts';

/** How soon the reconciler looks at a delivery that its trigger should have attended. */
const ATTEND_WITHIN_MS = 60_000;
/** How long what people were told is kept. */
export const TOLD_RETENTION_MS = 90 * 24 * 60 * 60 * 1_000;

type Delivery = Omit<OutboxRecord, 'v' | 'state' | 'attempt' | 'createdAt' | 'due' | 'expiresAt'>;

/** A delivery that nobody has tried yet; its creation trigger does. */
export function newDelivery(delivery: Delivery, now: number): OutboxRecord {
  return {
    v: 1,
    ...delivery,
    state: 'queued',
    attempt: 0,
    createdAt: now,
    due: dueField(delivery.runId ?? delivery.id, now + ATTEND_WITHIN_MS),
    expiresAt: now + TOLD_RETENTION_MS,
  };
}

export function newNotification(told: Omit<NotificationRecord, 'v' | 'createdAt' | 'expiresAt'>, now: number): NotificationRecord {
  return { v: 1, ...told, createdAt: now, expiresAt: now + TOLD_RETENTION_MS };
}
