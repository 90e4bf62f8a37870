import { z } from 'zod';
import { triggers } from '../triggers.ts';
import type { WebhookTrigger } from '../triggers.ts';

/** Stripe webhooks: https://docs.stripe.com/api/events. Amounts are whole numbers of the smallest unit; times are seconds. */

/** What every event has in common, around the object that it is about. */
function eventOf<T extends string, O extends z.ZodType>(type: T, object: O) {
  return z.object({
    id: z.string(),
    type: z.literal(type),
    created: z.number().int(),
    livemode: z.boolean(),
    api_version: z.string().nullish(),
    data: z.object({ object, previous_attributes: z.record(z.string(), z.unknown()).optional() }),
  });
}

const metadata = z.record(z.string(), z.string()).nullish();

const paymentIntent = z.object({
  id: z.string(),
  amount: z.number().int(),
  amount_received: z.number().int().optional(),
  currency: z.string(),
  customer: z.string().nullish(),
  status: z.string(),
  metadata,
});

const invoice = z.object({
  id: z.string(),
  number: z.string().nullish(),
  customer: z.string().nullish(),
  customer_email: z.string().nullish(),
  amount_due: z.number().int(),
  amount_paid: z.number().int(),
  currency: z.string(),
  status: z.string().nullish(),
  hosted_invoice_url: z.string().nullish(),
  metadata,
});

const checkoutSession = z.object({
  id: z.string(),
  amount_total: z.number().int().nullish(),
  currency: z.string().nullish(),
  customer: z.string().nullish(),
  payment_intent: z.string().nullish(),
  payment_status: z.string(),
  client_reference_id: z.string().nullish(),
  metadata,
});

const subscription = z.object({ id: z.string(), customer: z.string(), status: z.string(), cancel_at: z.number().nullish(), metadata });

const scheme = { kind: 'stripe' } as const;

function on<T extends string, O extends z.ZodType>(type: T, object: O): WebhookTrigger<z.infer<ReturnType<typeof eventOf<T, O>>>> {
  return triggers.webhook(scheme, {
    events: [type],
    payload: eventOf(type, object) as z.ZodType<z.infer<ReturnType<typeof eventOf<T, O>>>>,
  });
}

export const stripe = {
  /** Any event type, with a schema of one's own for the object that it is about. */
  on,
  onPaymentSucceeded: () => on('payment_intent.succeeded', paymentIntent),
  onPaymentFailed: () => on('payment_intent.payment_failed', paymentIntent),
  onInvoicePaid: () => on('invoice.paid', invoice),
  onInvoicePaymentFailed: () => on('invoice.payment_failed', invoice),
  onCheckoutCompleted: () => on('checkout.session.completed', checkoutSession),
  onSubscriptionDeleted: () => on('customer.subscription.deleted', subscription),
} as const;
