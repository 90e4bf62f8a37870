import { z } from 'zod';
import { triggers } from '../triggers.ts';
import type { WebhookTrigger } from '../triggers.ts';

/** Senders that follow https://www.standardwebhooks.com: an event's type, its time, and data. */
export interface StandardEvent<D> {
  readonly type: string;
  /** ISO 8601. */
  readonly timestamp: string;
  readonly data: D;
}

const scheme = { kind: 'standard' } as const;

export const standardWebhooks = {
  on: <D>(type: string, data: z.ZodType<D>): WebhookTrigger<StandardEvent<D>> =>
    triggers.webhook<StandardEvent<D>>(scheme, {
      events: [type],
      payload: z.object({ type: z.literal(type), timestamp: z.string(), data }) as unknown as z.ZodType<StandardEvent<D>>,
    }),
} as const;
