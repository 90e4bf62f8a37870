import { keyedRandom } from '../seeded.ts';

/** What may happen to a document event on its way, as rates between 0 and 1. */
export interface EventFaults {
  /** Delivered twice: at the same moment, or again after it succeeded. */
  readonly duplicate: number;
  /** Held back by up to `delayMs`. */
  readonly delay: number;
  readonly delayMs: number;
  /** Held back until up to three later events have overtaken it, or `delayMs` is over. */
  readonly reorder: number;
  /** Does not arrive, and comes again after `redeliverMs`, as after a crash of the instance. */
  readonly drop: number;
  readonly redeliverMs: number;
  /** Never arrives: only the reconciler can notice. */
  readonly lose: number;
  /** The invocation succeeded and the platform did not hear it: the event comes again. */
  readonly loseAnswer: number;
  /** Arrives without its document, as an event over the size limit does. */
  readonly withoutData: number;
  /** The worker process is killed up to `killMs` after it got the event. Needs `worker: true`. */
  readonly kill: number;
  readonly killMs: number;
}

export const noEventFaults: EventFaults = {
  duplicate: 0,
  delay: 0,
  delayMs: 100,
  reorder: 0,
  drop: 0,
  redeliverMs: 150,
  lose: 0,
  loseAnswer: 0,
  withoutData: 0,
  kill: 0,
  killMs: 20,
};

export type Arrival =
  | { readonly kind: 'now' }
  | { readonly kind: 'lost' }
  | { readonly kind: 'delayed' | 'dropped'; readonly ms: number }
  | { readonly kind: 'overtaken'; readonly by: number; readonly ms: number };

/** The fate of one delivery. `key` names it by function, document and count, which do not depend on the order of arrival. */
export interface Fate {
  readonly arrival: Arrival;
  readonly duplicate: 'none' | 'at-once' | 'after-success';
  readonly loseAnswer: boolean;
  readonly withoutData: boolean;
}

export function drawFate(seed: string, faults: EventFaults, key: readonly string[]): Fate {
  const random = (what: string): number => keyedRandom(seed, what, ...key);
  const hits = (what: string, rate: number): boolean => rate > 0 && random(what) < rate;
  let arrival: Arrival = { kind: 'now' };
  if (hits('lose', faults.lose)) arrival = { kind: 'lost' };
  else if (hits('drop', faults.drop)) arrival = { kind: 'dropped', ms: faults.redeliverMs };
  else if (hits('reorder', faults.reorder))
    arrival = { kind: 'overtaken', by: 1 + Math.floor(random('overtaken-by') * 3), ms: faults.delayMs };
  else if (hits('delay', faults.delay)) arrival = { kind: 'delayed', ms: random('delay-ms') * faults.delayMs };
  let duplicate: Fate['duplicate'] = 'none';
  if (hits('duplicate', faults.duplicate)) duplicate = random('duplicate-kind') < 0.5 ? 'at-once' : 'after-success';
  return { arrival, duplicate, loseAnswer: hits('lose-answer', faults.loseAnswer), withoutData: hits('without-data', faults.withoutData) };
}

/**
 * After how many ms to kill the process that handles this event; undefined mostly. Drawn once an event: a kill hits every call
 * in flight, and if their redeliveries were drawn again, one kill would lead to the next for ever.
 */
export function drawKill(seed: string, faults: EventFaults, key: readonly string[]): number | undefined {
  if (faults.kill === 0 || keyedRandom(seed, 'kill', ...key) >= faults.kill) return undefined;
  return keyedRandom(seed, 'kill-ms', ...key) * faults.killMs;
}
