import { families } from './families.ts';
import type { Family, FamilyName } from './families.ts';

/** Numbers by series. A series' key is JSON: `["name", "label", "value", …]`. */
export type Series = Map<string, number>;

type Labels<N extends FamilyName> = Readonly<Record<(typeof families)[N]['labels'][number], string>>;

/** Label values come from definitions and errors: bounded, so that nobody's data becomes a thousand series. */
const LABEL_MAX = 64;
/** Series that one document holds; what comes beyond is counted together. */
export const SERIES_MAX = 4_000;
const INFINITE = '+Inf';

export function count<N extends FamilyName>(series: Series, name: N, labels: Labels<N>, by = 1): void {
  if (by !== 0) addTo(series, seriesKey(name, labels), by);
}

/** Counts one observation into its bucket. Buckets are summed up when they are shown. */
export function observe<N extends FamilyName>(series: Series, name: N, labels: Labels<N>, value: number): void {
  const { buckets = [] } = families[name] as Family;
  const bound = buckets.find((bucket) => value <= bucket);
  addTo(series, seriesKey(name, { ...labels, le: bound === undefined ? INFINITE : String(bound) }), 1);
  addTo(series, seriesKey(`${name}_sum`, labels), value);
}

function addTo(series: Series, key: string, by: number): void {
  series.set(key, (series.get(key) ?? 0) + by);
}

export function seriesKey(name: string, labels: Readonly<Record<string, string>>): string {
  const pairs = Object.keys(labels)
    .sort()
    .flatMap((label) => [label, clean(labels[label] ?? '')]);
  return JSON.stringify([name, ...pairs]);
}

function clean(value: string): string {
  return value.replaceAll(/[^A-Za-z0-9_.:@ +-]/g, '_').slice(0, LABEL_MAX);
}

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export function samplesOf(series: Series): readonly Sample[] {
  return [...series].map(([key, value]) => {
    const [name = '', ...pairs] = JSON.parse(key) as string[];
    const labels: Record<string, string> = {};
    for (let i = 0; i + 1 < pairs.length; i += 2) labels[pairs[i] ?? ''] = pairs[i + 1] ?? '';
    return { name, labels, value };
  });
}

export function encodeSeries(series: Series): string {
  return JSON.stringify(Object.fromEntries([...series].sort(([a], [b]) => (a < b ? -1 : 1))));
}

export function decodeSeries(text: string): Series {
  return new Map(Object.entries(JSON.parse(text) as Record<string, number>));
}

/** Adds the second to the first. New series beyond the limit lose their labels, so that the sum stays right. */
export function merge(into: Series, from: Series): Series {
  for (const [key, value] of from) addTo(into, into.has(key) || hasRoom(into, key) ? key : overflowKey(key), value);
  return into;
}

function hasRoom(series: Series, key: string): boolean {
  if (series.size >= SERIES_MAX) return false;
  const limited = (Object.keys(families) as FamilyName[]).find(
    (name) => isOf(key, name) && (families[name] as Family).seriesMax !== undefined,
  );
  if (limited === undefined) return true;
  const { seriesMax = SERIES_MAX } = families[limited] as Family;
  return [...series.keys()].filter((known) => isOf(known, limited)).length < seriesMax;
}

function isOf(key: string, name: FamilyName): boolean {
  return key.startsWith(`["${name}"`) || key.startsWith(`["${name}_sum"`);
}

function overflowKey(key: string): string {
  const [name = '', ...pairs] = JSON.parse(key) as string[];
  const kept = pairs.map((part, i) => (i % 2 === 0 || pairs[i - 1] === 'le' ? part : 'other'));
  return JSON.stringify([name, ...kept]);
}
