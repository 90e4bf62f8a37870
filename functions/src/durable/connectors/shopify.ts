import { z } from 'zod';
import { triggers } from '../triggers.ts';
import type { WebhookTrigger } from '../triggers.ts';

/** Shopify webhooks: https://shopify.dev/docs/api/webhooks. Amounts are decimal texts, as the service sends them. */

const address = z.object({
  name: z.string().nullish(),
  company: z.string().nullish(),
  address1: z.string().nullish(),
  address2: z.string().nullish(),
  city: z.string().nullish(),
  zip: z.string().nullish(),
  country_code: z.string().nullish(),
  phone: z.string().nullish(),
});

const customer = z.object({
  id: z.number(),
  email: z.string().nullish(),
  first_name: z.string().nullish(),
  last_name: z.string().nullish(),
});

const lineItem = z.object({
  id: z.number(),
  sku: z.string().nullish(),
  title: z.string(),
  quantity: z.number().int(),
  price: z.string(),
  product_id: z.number().nullish(),
  variant_id: z.number().nullish(),
});

const order = z.object({
  id: z.number(),
  name: z.string(),
  order_number: z.number().int().optional(),
  email: z.string().nullish(),
  created_at: z.string(),
  cancelled_at: z.string().nullish(),
  currency: z.string(),
  total_price: z.string(),
  financial_status: z.string().nullish(),
  fulfillment_status: z.string().nullish(),
  customer: customer.nullish(),
  shipping_address: address.nullish(),
  line_items: z.array(lineItem),
});
export type ShopifyOrder = z.infer<typeof order>;

const refund = z.object({
  id: z.number(),
  order_id: z.number(),
  created_at: z.string(),
  note: z.string().nullish(),
  refund_line_items: z.array(z.object({ id: z.number(), line_item_id: z.number(), quantity: z.number().int() })),
});

const scheme = { kind: 'shopify' } as const;
const onOrder = (topic: string) => (): WebhookTrigger<ShopifyOrder> => triggers.webhook(scheme, { events: [topic], payload: order });

export const shopify = {
  /** Any topic, with a schema of one's own for its payload. */
  on: <P>(topic: string, payload: z.ZodType<P>): WebhookTrigger<P> => triggers.webhook(scheme, { events: [topic], payload }),
  onOrderCreated: onOrder('orders/create'),
  onOrderPaid: onOrder('orders/paid'),
  onOrderCancelled: onOrder('orders/cancelled'),
  onRefundCreated: (): WebhookTrigger<z.infer<typeof refund>> => triggers.webhook(scheme, { events: ['refunds/create'], payload: refund }),
} as const;
