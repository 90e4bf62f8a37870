import type { z } from 'zod';
import type { Json } from '../engine/json.ts';
import type { WebhookScheme } from '../services/webhooks/verify.ts';

/** Carries the payload's type; never has a value. */
declare const payloadType: unique symbol;

interface TriggerBase<P> {
  readonly [payloadType]?: P;
  /** Checks the payload before a run is started; what does not fit starts none. */
  readonly payload?: z.ZodType<P>;
}

/** A run for each event of the name. */
export interface EventTrigger<P> extends TriggerBase<P> {
  readonly kind: 'event';
  readonly event: string;
  /** CEL over `event`: only events for which it is true. */
  readonly match?: string;
}

/** A run for each delivery of a webhook whose signature is right. */
export interface WebhookTrigger<P> extends TriggerBase<P> {
  readonly kind: 'webhook';
  readonly scheme: WebhookScheme;
  /** Only deliveries with one of these event names. */
  readonly events?: readonly string[];
}

/**
 * A run for each occurrence. In the hour that daylight saving skips, an occurrence runs once, right after it; in the hour that
 * it repeats, it runs once.
 */
export interface ScheduleTrigger<P> extends TriggerBase<P> {
  readonly kind: 'schedule';
  readonly cron: string;
  readonly timeZone: string;
  /** What to do while the run of an earlier occurrence is not over. Default `skip`. */
  readonly overlap: 'skip' | 'allow' | 'cancel_previous';
}

/** A run for each document created at a path of the team's own data, such as `orders/{orderId}`. */
export interface DocumentTrigger<P> extends TriggerBase<P> {
  readonly kind: 'document';
  readonly path: string;
}

/** Started by a person, by the API or by another workflow. */
export interface ManualTrigger<P = unknown> extends TriggerBase<P> {
  readonly kind: 'manual';
}

export type Trigger<P = Json> = EventTrigger<P> | WebhookTrigger<P> | ScheduleTrigger<P> | DocumentTrigger<P> | ManualTrigger<P>;

export interface ScheduleOccurrence {
  readonly [key: string]: Json;
  /** The time that the schedule means, ISO 8601; the run may begin a little later. */
  readonly scheduledFor: string;
  readonly timeZone: string;
}

export interface CreatedDocument<D> {
  readonly path: string;
  /** Values of the path's variables. */
  readonly params: Readonly<Record<string, string>>;
  readonly data: D;
}

export const triggers = {
  event: <P = Json>(event: string, options: { match?: string; payload?: z.ZodType<P> } = {}): EventTrigger<P> => ({
    kind: 'event',
    event,
    ...options,
  }),
  webhook: <P = Json>(scheme: WebhookScheme, options: { events?: readonly string[]; payload?: z.ZodType<P> } = {}): WebhookTrigger<P> => ({
    kind: 'webhook',
    scheme,
    ...options,
  }),
  schedule: (
    cron: string,
    timeZone: string,
    overlap: ScheduleTrigger<unknown>['overlap'] = 'skip',
  ): ScheduleTrigger<ScheduleOccurrence> => ({ kind: 'schedule', cron, timeZone, overlap }),
  document: <D = Json>(path: string): DocumentTrigger<CreatedDocument<D>> => ({ kind: 'document', path }),
  /** The payload is what the workflow's input schema takes. */
  manual: (): ManualTrigger => ({ kind: 'manual' }),
} as const;
