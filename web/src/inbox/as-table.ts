import type { Json } from '@engine/json.ts';
import { isObject } from '../forms/fields.ts';

export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (Json | undefined)[])[];
}

const COLUMNS_MAX = 6;
const ROWS_MAX = 50;

/** A list of like things, such as the lines of an invoice, reads best as a table; undefined for everything else. */
export function tableOf(value: Json): Table | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > ROWS_MAX || !value.every(isObject)) return undefined;
  const columns = [...new Set(value.flatMap((item) => Object.keys(item)))];
  if (columns.length === 0 || columns.length > COLUMNS_MAX) return undefined;
  const rows = value.map((item) => columns.map((column) => (Object.hasOwn(item, column) ? item[column] : undefined)));
  return rows.every((row) => row.every((cell) => typeof cell !== 'object' || cell === null)) ? { columns, rows } : undefined;
}
