import { z } from 'zod';
import { BusinessException, defineWorkflow } from '../durable/api.ts';
import { outside } from './outside.ts';

/**
 * From a paid basket to a parcel on its way: reserve the goods, charge, wait for the carrier, tell the customer. Whatever goes
 * wrong after money or goods have moved is undone, the latest first.
 */
export const orderFulfilment = defineWorkflow({
  id: 'order-fulfilment',
  name: 'Order fulfilment',
  description: 'Reserves, charges and ships an order; undoes what it did when it cannot be shipped.',
  input: z.object({
    orderId: z.string().min(1),
    email: z.string(),
    amountCents: z.number().int().positive(),
    currency: z.string().length(3),
    lines: z.array(z.object({ sku: z.string(), quantity: z.number().int().positive() })).min(1),
  }),
  states: {
    initial: 'received',
    transitions: { received: ['reserved'], reserved: ['charged'], charged: ['handed_over'], handed_over: [] },
  },
  async run({ input, step }) {
    const { orderId, email, amountCents, currency, lines } = input;

    // Registered before the goods are reserved: also a reservation whose answer got lost is released.
    step.onCompensate('release-goods', ({ idempotencyKey, idempotencyKeyOf }) =>
      outside.call('warehouse', '/release', { orderId, reservation: idempotencyKeyOf('reserve-goods') }, { idempotencyKey }),
    );
    const reserved = await step.run('reserve-goods', (context) =>
      outside.call<{ missing: string[] }>('warehouse', '/reserve', { orderId, lines }, context),
    );
    if (reserved.missing.length > 0) throw new BusinessException('out_of_stock', { skus: reserved.missing });
    step.setState('reserved');

    step.onCompensate('refund', { retry: { maxAttempts: 10 } }, ({ idempotencyKey, idempotencyKeyOf }) =>
      outside.call('payments', '/refund', { charge: idempotencyKeyOf('charge') }, { idempotencyKey }),
    );
    const charge = await step.run('charge', { retry: { maxAttempts: 5 } }, (context) =>
      outside.call<{ id: string; status: 'paid' | 'declined' }>('payments', '/charge', { orderId, amountCents, currency }, context),
    );
    if (charge.status === 'declined') throw new BusinessException('payment_declined', { charge: charge.id });
    step.setState('charged');

    await step.run('order-pickup', (context) => outside.call('carrier', '/pickup', { orderId, lines }, context));
    const parcel = await step.waitForEvent<{ trackingNumber: string }>('handed-over', {
      event: 'parcel.handed_over',
      key: orderId,
      timeout: '5d',
    });
    if (parcel === null) throw new BusinessException('not_shipped', { orderId, afterDays: 5 });
    step.setState('handed_over');

    const { trackingNumber } = parcel.payload;
    await step.run('tell-customer', (context) =>
      outside.call('mailer', '/send', { to: email, template: 'on-its-way', trackingNumber }, context),
    );
    return { orderId, charge: charge.id, trackingNumber };
  },
});
