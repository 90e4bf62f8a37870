import type { Catalogue } from '../text/en/index.ts';

function pretty(outcome: string): string {
  const words = outcome.replaceAll(/[_-]+/g, ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** What a button says: "Approve". A step's own outcomes are named as the step names them. */
export function outcomeAction(t: Catalogue, outcome: string): string {
  const names: Readonly<Record<string, string>> = t.approval.outcome;
  return Object.hasOwn(names, outcome) ? (names[outcome] ?? outcome) : pretty(outcome);
}

/** What it came to: "Approved". */
export function outcomeDone(t: Catalogue, outcome: string): string {
  const names: Readonly<Record<string, string>> = t.approval.outcomeDone;
  return Object.hasOwn(names, outcome) ? (names[outcome] ?? outcome) : pretty(outcome);
}
