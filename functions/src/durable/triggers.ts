import type { z } from 'zod';
import type { Json } from '../engine/json.ts';
import type { TriggerDeclaration } from '../model/trigger.ts';
import type { WebhookScheme } from '../services/webhooks/verify.ts';

/** Carries the payload's type; never has a value. */
declare const payloadType: unique symbol;

interface TriggerBase<P> {
  readonly [payloadType]?: P;
  /** Reads the payload; a run whose payload does not fit is rejected before its first step. */
  readonly payload?: z.ZodType<P>;
}

type Of<P, K extends TriggerDeclaration['kind']> = TriggerBase<P> & Extract<TriggerDeclaration, { readonly kind: K }>;

export type EventTrigger<P> = Of<P, 'event'>;
export type WebhookTrigger<P> = Of<P, 'webhook'> & { readonly scheme: WebhookScheme };
export type ScheduleTrigger<P> = Of<P, 'schedule'>;
export type DocumentTrigger<P> = Of<P, 'document'>;
export type ManualTrigger<P = unknown> = Of<P, 'manual'>;

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
  /** An admin connects an address with it: a hook whose target is the workflow, with the keys of the account. */
  webhook: <P = Json>(scheme: WebhookScheme, options: { events?: readonly string[]; payload?: z.ZodType<P> } = {}): WebhookTrigger<P> => ({
    kind: 'webhook',
    scheme,
    ...options,
  }),
  /** Becomes a schedule of each account within a minute of the deployment, and goes when the code no longer declares it. */
  schedule: (
    cron: string,
    timeZone: string,
    { accounts, overlap = 'skip' }: { accounts: readonly string[]; overlap?: ScheduleTrigger<unknown>['overlap'] },
  ): ScheduleTrigger<ScheduleOccurrence> => ({ kind: 'schedule', cron, timeZone, overlap, accounts }),
  /** Needs the path to be watched: `documentTrigger(path)` in `index.ts`. */
  document: <D = Json>(path: string): DocumentTrigger<CreatedDocument<D>> => ({ kind: 'document', path }),
  /** The payload is what the workflow's input schema takes. */
  manual: (): ManualTrigger => ({ kind: 'manual' }),
} as const;
