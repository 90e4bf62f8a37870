import { canonicalJson, parseJson } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import { ANY_KEY, eventRecordSchema, waitRecordSchema } from '../model/event.ts';
import type { EventRecord, WaitRecord } from '../model/event.ts';
import { paths } from '../model/paths.ts';
import type { StepRef } from '../model/paths.ts';
import type { Runtime } from '../runner/runtime.ts';
import { finishWait } from '../runner/finish-wait.ts';
import { dueField } from './due.ts';
import { lineageOf, matches, senderPath } from './event-match.ts';
import { startDeclared } from './event-starts.ts';
import { loadPayload } from './payloads.ts';
import { heldStep } from './steps.ts';
import { increment, remove } from './store.ts';
import type { Query } from './store.ts';

/** Events and waits looked at in one go. */
const PAGE = 100;
const MAX_PAGES = 50;
const UNATTENDED_MS = 60_000;

export const EVENT_RETENTION_MS = 30 * 24 * 60 * 60 * 1_000;

export interface NewEvent {
  readonly eventId: string;
  readonly name: string;
  readonly key?: string;
  readonly runId?: string;
  readonly payload: Json;
  readonly source: string;
  readonly tainted?: true;
  readonly chainDepth?: number;
}

/** The document of a new event. Creating it is all that a sender does; the same id twice is one event. */
export function eventRecord(accountId: string, event: NewEvent, payload: EventRecord['payload'], now: number): EventRecord {
  const { eventId, name, key, runId, source, tainted, chainDepth } = event;
  return {
    v: 1,
    accountId,
    eventId,
    name,
    ...(key === undefined ? {} : { key }),
    ...(runId === undefined ? {} : { runId }),
    payload,
    source,
    receivedAt: now,
    state: 'new',
    taken: 0,
    ...(tainted === undefined ? {} : { tainted }),
    ...(chainDepth === undefined ? {} : { chainDepth }),
    due: dueField(eventId, now + UNATTENDED_MS),
    expiresAt: now + EVENT_RETENTION_MS,
  };
}

/**
 * A stored event starts the runs that are declared for it, then looks for the waits that are open now. Waits registered later look
 * for the event themselves, so one of the two always sees the other; the meeting itself is one transaction.
 */
export async function attendEvent(runtime: Runtime, accountId: string, eventId: string): Promise<void> {
  const path = paths.event(accountId, eventId);
  const { docs } = await runtime.store.get([path]);
  if (docs[0] === undefined) return;
  const event = eventRecordSchema.parse(docs[0].data);
  if (event.state === 'handled') return;
  const refused = await startDeclared(runtime, event);
  let after = '';
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const found = await runtime.store.query(openWaits(event, after));
    for (const doc of found.docs) {
      const wait = waitRecordSchema.parse(doc.data);
      if (event.runId === undefined || wait.runId === event.runId) await meet(runtime, event, wait);
    }
    if (found.docs.length < PAGE) {
      const error = refused === undefined ? {} : { error: refused };
      await runtime.store.commit([{ op: 'update', path, data: { state: 'handled', due: remove, expiresAt: event.expiresAt, ...error } }]);
      return;
    }
    after = found.docs.at(-1)?.id ?? '';
  }
  // Still more waits: the event stays due, and the reconciler starts over; those that took it are closed by then.
}

function openWaits(event: EventRecord, after: string): Query {
  const keys = event.key === undefined ? [ANY_KEY] : [ANY_KEY, event.key];
  return {
    from: paths.waits(event.accountId),
    where: [
      ['name', '==', event.name],
      ['state', '==', 'open'],
      ['key', 'in', keys],
      ['waitId', '>', after],
    ],
    orderBy: [['waitId', 'asc']],
    limit: PAGE,
  };
}

/** A wait looks for events that came before it. True when one was taken. */
export async function matchBufferedEvent(runtime: Runtime, ref: StepRef, waitId: string): Promise<boolean> {
  const { docs } = await runtime.store.get([paths.wait(ref.accountId, waitId)]);
  if (docs[0] === undefined) return false;
  const wait = waitRecordSchema.parse(docs[0].data);
  if (wait.state === 'closed') return false;
  const found = await runtime.store.query({
    from: paths.events(ref.accountId),
    where: [
      ['name', '==', wait.name],
      ['receivedAt', '>=', wait.since],
      ...(wait.key === ANY_KEY ? [] : [['key', '==', wait.key] as const]),
    ],
    orderBy: [['receivedAt', 'asc']],
    limit: PAGE,
  });
  for (const doc of found.docs) {
    const event = eventRecordSchema.parse(doc.data);
    if ((event.runId === undefined || event.runId === wait.runId) && (await meet(runtime, event, wait))) return true;
  }
  return false;
}

/** Event and wait meet: the wait closes, the event is used up for this run, the step ends. All or nothing. */
async function meet(runtime: Runtime, event: EventRecord, wait: WaitRecord): Promise<boolean> {
  const payload = parseJson(await loadPayload(runtime.store, { accountId: event.accountId, runId: event.eventId }, event.payload));
  const vars = wait.vars === undefined ? {} : (parseJson(wait.vars) as { [name: string]: Json });
  if (!matches(wait.match, event, payload, vars)) return false;
  const { accountId } = wait;
  const consumed = paths.consumed(accountId, wait.runId, event.eventId);
  const sender = senderPath(event);
  return runtime.store.transaction(async (tx) => {
    const wanted = [paths.wait(accountId, wait.waitId), paths.step(accountId, wait.runId, wait.stepKey), consumed];
    const { docs } = await tx.get(sender === undefined ? wanted : [...wanted, sender]);
    const [waitDoc, stepDoc, consumedDoc, senderDoc] = docs;
    if (waitDoc === undefined || stepDoc === undefined || consumedDoc !== undefined) return false;
    const held = heldStep(stepDoc);
    const still = held.record.state === 'waiting' && held.record.wait?.kind === 'event' && held.record.wait.waitId === wait.waitId;
    if (waitRecordSchema.parse(waitDoc.data).state === 'closed' || !still) return false;
    const now = runtime.clock.now();
    const output = canonicalJson({
      timedOut: false,
      event: { id: event.eventId, name: event.name, key: event.key ?? null, receivedAt: event.receivedAt, payload },
    });
    const writes = await finishWait(runtime, held, output, tx);
    for (const write of writes) tx.write(write);
    tx.write({ op: 'update', path: paths.wait(accountId, wait.waitId), data: { state: 'closed', endedAt: now, eventId: event.eventId } });
    // Outsiders wrote what the run has read now.
    if (lineageOf(event, senderDoc).tainted) tx.write({ op: 'update', path: paths.run(accountId, wait.runId), data: { tainted: true } });
    tx.write({ op: 'create', path: consumed, data: { v: 1, waitId: wait.waitId, at: now } });
    tx.write({ op: 'update', path: paths.event(accountId, event.eventId), data: { taken: increment(1) } });
    return true;
  });
}
