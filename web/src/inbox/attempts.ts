import { useCallback, useEffect, useSyncExternalStore } from 'react';
import type { DecisionRecord } from '@model/approval.ts';
import type { Item } from '../data/live.ts';

/**
 * What this browser tried to send. The Firestore client keeps a decision while offline, also over a reload, but a reload forgets who
 * was waiting for the answer: if the server then refuses it, it just vanishes. This note lets the page say so.
 */
export interface Attempt {
  readonly outcome: string;
  readonly turnedAway: boolean;
}

const listeners = new Set<() => void>();
const cache = new Map<string, Attempt | undefined>();
/** Sent by this page, whose answer therefore comes by itself. */
const inFlight = new Set<string>();

function keyOf(accountId: string, approvalId: string): string {
  return `kiln.sent.${accountId}.${approvalId}`;
}

function read(key: string): Attempt | undefined {
  if (!cache.has(key)) {
    const stored = localStorage.getItem(key);
    cache.set(key, stored === null ? undefined : { outcome: stored, turnedAway: false });
  }
  return cache.get(key);
}

function write(key: string, attempt: Attempt | undefined): void {
  cache.set(key, attempt);
  if (attempt === undefined || attempt.turnedAway) localStorage.removeItem(key);
  else localStorage.setItem(key, attempt.outcome);
  for (const listener of listeners) listener();
}

export function noteSending(accountId: string, approvalId: string, outcome: string): void {
  inFlight.add(keyOf(accountId, approvalId));
  write(keyOf(accountId, approvalId), { outcome, turnedAway: false });
}

export function noteTaken(accountId: string, approvalId: string): void {
  inFlight.delete(keyOf(accountId, approvalId));
  write(keyOf(accountId, approvalId), undefined);
}

export function noteTurnedAway(accountId: string, approvalId: string, outcome: string): void {
  inFlight.delete(keyOf(accountId, approvalId));
  write(keyOf(accountId, approvalId), { outcome, turnedAway: true });
}

/** `certain`: the server has said which decisions there are, so that one which is not among them was not taken. */
export function useAttempt(
  accountId: string,
  approvalId: string,
  certain: boolean,
  mine: Item<DecisionRecord> | undefined,
): Attempt | undefined {
  const key = keyOf(accountId, approvalId);
  const subscribe = useCallback((listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, []);
  const attempt = useSyncExternalStore(subscribe, () => read(key));
  useEffect(() => {
    if (attempt === undefined || attempt.turnedAway || !certain || inFlight.has(key)) return;
    if (mine === undefined) write(key, { ...attempt, turnedAway: true });
    else if (!mine.pending) write(key, undefined);
  }, [attempt, certain, key, mine]);
  return attempt;
}
