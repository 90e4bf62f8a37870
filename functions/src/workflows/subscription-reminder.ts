import { z } from 'zod';
import { defineWorkflow, triggers } from '../durable/api.ts';
import { outside } from './outside.ts';

const DAY_MS = 86_400_000;

/**
 * Reminds a subscriber two weeks before each renewal and renews, for as long as the subscription lasts. Between the reminders the
 * run costs nothing: it is a document with a date. A cancellation counts whenever it comes.
 */
export const subscriptionReminder = defineWorkflow({
  id: 'subscription-reminder',
  name: 'Subscription reminder',
  description: 'Sleeps for months between reminders and renewals, until the subscriber cancels.',
  trigger: triggers.event<{ subscriptionId: string; email: string; renewsAt: string; everyMonths: number; renewals: number }>(
    'subscription.started',
  ),
  input: z.object({
    subscriptionId: z.string().min(1),
    email: z.string(),
    renewsAt: z.iso.datetime({ offset: true }),
    everyMonths: z.number().int().min(1).max(36),
    /** A run ends after so many renewals; the next one starts a run of its own. */
    renewals: z.number().int().min(1).max(120).default(24),
  }),
  async run({ input, step }) {
    const { subscriptionId, email, everyMonths } = input;
    const cancelled = (name: string) =>
      step.waitForEvent(name, { event: 'subscription.cancelled', key: subscriptionId, timeout: '4000d', lookback: '4000d' });
    let renewsAt = new Date(input.renewsAt);

    for (let renewal = 1; renewal <= input.renewals; renewal += 1) {
      const remindAt = new Date(renewsAt.getTime() - 14 * DAY_MS);
      const before = await step.race({
        reminder: step.sleepUntil(`until-reminder-${renewal}`, remindAt),
        cancelled: cancelled(`cancelled-early-${renewal}`),
      });
      if (before.winner === 'cancelled') return { renewals: renewal - 1, ended: 'cancelled' };

      await step.run(`remind-${renewal}`, (context) =>
        outside.call('mailer', '/send', { to: email, template: 'renewal-ahead', renewsAt: renewsAt.toISOString() }, context),
      );
      const after = await step.race({
        renewal: step.sleepUntil(`until-renewal-${renewal}`, renewsAt),
        cancelled: cancelled(`cancelled-late-${renewal}`),
      });
      if (after.winner === 'cancelled') return { renewals: renewal - 1, ended: 'cancelled' };

      await step.run(`renew-${renewal}`, { retry: { maxAttempts: 10 } }, (context) =>
        outside.call('payments', '/renew', { subscriptionId, renewal }, context),
      );
      renewsAt = monthsLater(renewsAt, everyMonths);
    }
    return { renewals: input.renewals, ended: 'term over' };
  },
});

/** The same day of the month, or its last where there is no such day. */
function monthsLater(date: Date, months: number): Date {
  const day = date.getUTCDate();
  const next = new Date(date);
  next.setUTCDate(1);
  next.setUTCMonth(next.getUTCMonth() + months);
  const last = new Date(Date.UTC(next.getUTCFullYear(), next.getUTCMonth() + 1, 0)).getUTCDate();
  next.setUTCDate(Math.min(day, last));
  return next;
}
