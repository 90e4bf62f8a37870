import { z } from 'zod';
import { digest } from '../engine/json.ts';
import { BusinessException } from '../model/errors.ts';
import { defineAction } from '../steps/action-registry.ts';
import type { Action } from '../steps/action-registry.ts';
import { similarIssues } from './similarity.ts';

/*
 * The actions of the sample workflows. They compute what they return and call nobody, so that the samples run on any machine
 * without a key; their names begin with "demo." to say so. Replace them by your own: an action may do whatever code can do.
 */

const findSimilar = defineAction({
  name: 'demo.findSimilar',
  description: 'Compares an issue’s title with a few known ones by their words. Reads nothing outside.',
  input: z.object({ title: z.string() }),
  output: z.object({ issues: z.array(z.object({ number: z.number(), title: z.string(), score: z.number() })) }),
  readOnly: true,
  run: ({ title }) => ({ issues: similarIssues(title) }),
});

const repositoryReach = defineAction({
  name: 'demo.repositoryReach',
  description: 'Says how many people a repository reaches, from the numbers that the webhook brought along.',
  input: z.object({ stars: z.number(), forks: z.number(), openIssues: z.number() }),
  output: z.object({ reach: z.enum(['small', 'medium', 'large']), openIssues: z.number() }),
  readOnly: true,
  run: ({ stars, forks, openIssues }) => {
    const people = stars + 2 * forks;
    return { reach: people > 10_000 ? ('large' as const) : people > 100 ? ('medium' as const) : ('small' as const), openIssues };
  },
});

const palette = ['d73a4a', '0075ca', 'a2eeef', 'cfd3d7', '7057ff', '008672', 'e4e669'] as const;

const prepareLabel = defineAction({
  name: 'demo.prepareLabel',
  description: 'Works out what a label of an issue would be on GitHub: its name and a colour that is always the same. Sends nothing.',
  input: z.object({ repository: z.string(), issue: z.number(), label: z.string().min(1) }),
  output: z.object({ target: z.string(), label: z.string(), color: z.string() }),
  readOnly: true,
  run: ({ repository, issue, label }) => {
    const name = label.trim().toLowerCase();
    const color = palette[Number.parseInt(digest(name).slice(0, 6), 16) % palette.length] ?? palette[0];
    return { target: `${repository}#${issue}`, label: name, color };
  },
});

const line = z.object({ text: z.string(), quantity: z.number().positive(), unitPrice: z.number() });

const checkInvoice = defineAction({
  name: 'demo.checkInvoice',
  description: 'Adds the lines of an invoice up. Throws the business exception amount_mismatch when they are not its amount.',
  input: z.object({ amount: z.number(), lines: z.array(line).min(1) }),
  output: z.object({ lines: z.number(), total: z.number() }),
  readOnly: true,
  run: ({ amount, lines }) => {
    const total = cents(lines.reduce((sum, { quantity, unitPrice }) => sum + quantity * unitPrice, 0));
    if (total !== cents(amount)) {
      throw new BusinessException('amount_mismatch', { total, amount }, `the lines add up to ${total}, but the invoice says ${amount}`);
    }
    return { lines: lines.length, total };
  },
});

const bookInvoice = defineAction({
  name: 'demo.bookInvoice',
  description: 'Makes the booking of an invoice: an entry number that is the same on every attempt, and the account. Sends nothing.',
  input: z.object({ invoice: z.string(), vendor: z.string(), amount: z.number(), currency: z.string(), approvedBy: z.string() }),
  output: z.object({ entry: z.string(), account: z.string(), text: z.string() }),
  idempotent: true,
  run: ({ invoice, vendor, amount, currency, approvedBy }, { idempotencyKey }) => ({
    entry: `E-${digest(idempotencyKey).slice(0, 8).toUpperCase()}`,
    account: amount >= 10_000 ? '4900 Investments' : '4400 Services',
    text: `${vendor}, invoice ${invoice}: ${currency} ${amount.toFixed(2)}, ${approvedBy}`,
  }),
});

function cents(amount: number): number {
  return Math.round(amount * 100) / 100;
}

/** The team's actions, a line each. */
export const actions: readonly Action[] = [
  bookInvoice, //
  checkInvoice,
  findSimilar,
  prepareLabel,
  repositoryReach,
];
