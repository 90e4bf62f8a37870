import { z } from 'zod';
import { BusinessException, defineWorkflow, triggers } from '../durable/api.ts';

const invoice = z.object({
  supplier: z.string(),
  invoiceNumber: z.string(),
  totalCents: z.number().int(),
  currency: z.string(),
  dueDate: z.string(),
});
type Invoice = z.infer<typeof invoice>;

/** JSON Schema of what the model is to answer and a person may correct. */
const form = {
  type: 'object',
  properties: {
    supplier: { type: 'string' },
    invoiceNumber: { type: 'string' },
    totalCents: { type: 'integer' },
    currency: { type: 'string' },
    dueDate: { type: 'string' },
  },
  required: ['supplier', 'invoiceNumber', 'totalCents', 'currency', 'dueDate'],
  additionalProperties: false,
};

/**
 * A scanned invoice becomes a record that accounting can use. The model reads, plain checks judge, and whatever does not add up
 * goes to a person, who corrects the values before they are booked.
 */
export const documentIntake = defineWorkflow({
  id: 'document-intake',
  name: 'Document intake',
  description: 'Reads an invoice with a model, checks it, lets a person correct it where needed, and books it once.',
  trigger: triggers.document<{ text: string; receivedFrom: string }>('inbox/{documentId}'),
  async run({ event, step }) {
    const documentId = event.payload.params['documentId'] ?? '';
    const { text, receivedFrom } = event.payload.data;
    const read = await step.recipe<Invoice>('read-invoice', {
      system: 'You read invoices. Answer only with what the text says.',
      prompt: `Extract the supplier, invoice number, total in cents, currency and due date.\n\n${text}`,
      schema: form,
    });

    const doubts = doubtsAbout(read, text);
    const checked = doubts.length === 0 ? read : await corrected();
    const booked = await step.transaction('book', async (tx) => {
      const path = `invoices/${encodeURIComponent(`${checked.supplier}-${checked.invoiceNumber}`)}`;
      const before = await tx.get(path);
      // The same invoice scanned twice is booked once.
      if (before !== undefined && before['documentId'] !== documentId) return { path, duplicateOf: String(before['documentId']) };
      tx.set(path, { ...checked, documentId, receivedFrom });
      tx.set(`inbox/${documentId}`, { text, receivedFrom, invoice: path });
      return { path, duplicateOf: null };
    });
    return { ...booked, invoice: checked, corrected: doubts.length > 0 };

    async function corrected(): Promise<Invoice> {
      const decision = await step.waitForApproval('correct', {
        title: `Check the invoice from ${receivedFrom}`,
        approvers: { department: 'accounting' },
        deadline: '5d',
        show: { document: text, doubts },
        form,
        values: read,
        outcomes: ['approve', 'reject'],
      });
      if (!decision.approved) throw new BusinessException('not_an_invoice', { documentId, outcome: decision.outcome });
      return invoice.parse(decision.values);
    }
  },
});

/** Deterministic checks; a model's own confidence would not find its mistakes. */
function doubtsAbout(read: Invoice, text: string): string[] {
  const amount = `${Math.trunc(read.totalCents / 100)}.${String(Math.abs(read.totalCents % 100)).padStart(2, '0')}`;
  return [
    ...(text.includes(read.invoiceNumber) ? [] : [`the text does not contain the number ${read.invoiceNumber}`]),
    ...(text.replaceAll(/[' ,]/g, '').includes(amount) ? [] : [`the text does not contain the amount ${amount}`]),
    ...(/^\d{4}-\d{2}-\d{2}$/.test(read.dueDate) ? [] : [`"${read.dueDate}" is not a date`]),
    ...(read.totalCents > 0 ? [] : ['the total is not above zero']),
  ];
}
