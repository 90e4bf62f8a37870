import type { Installation } from '../installation.ts';

export type Figures = Record<string, number>;
/** Lines for people, figures for machines. */
export interface PartResult {
  readonly title: string;
  readonly rows: readonly (readonly string[])[];
  readonly figures: Figures;
  /** Paragraphs below the table. */
  readonly notes?: readonly string[];
}
export type Part = (kiln: Installation) => Promise<PartResult>;

/** Steps of a measured chain, and rounds of which the median counts. */
export const CHAIN = 20;
export const ROUNDS = 9;

export const noop = (id: string): object => ({ id, type: 'action', action: 'test.noop' });
export const transform = (id: string): object => ({ id, type: 'transform', value: 1 });
export const list = (n: number, make: (id: string) => object): object[] => Array.from({ length: n }, (_, i) => make(`s${i}`));
export const items = (n: number): object => ({ items: Array.from({ length: n }, (_, i) => i) });
export const overItems = { source: 'workflowInput', path: 'items' };
export const fixed = (n: number, digits = 2): string => n.toFixed(digits);
