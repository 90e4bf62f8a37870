import { asArray, asObject, asString } from '../services/json-fields.ts';

export interface RuleCoverage {
  readonly expressions: number;
  /** Line and text of each expression that no request evaluated. */
  readonly unevaluated: readonly string[];
}

/** Reads the emulator's coverage report. Every part of an expression counts by itself. */
export function ruleCoverage(json: unknown): RuleCoverage {
  const files = asObject(asObject(json)?.['rules'])?.['files'];
  const source = asString(asObject(asArray(files)[0])?.['content']) ?? '';
  const pending = [...asArray(asObject(json)?.['report'])];
  if (source === '' || pending.length === 0) throw new Error('the emulator gave no coverage report');
  const unevaluated: string[] = [];
  let expressions = 0;
  for (let next = asObject(pending.pop()); next !== undefined; next = asObject(pending.pop())) {
    expressions += 1;
    const place = asObject(next['sourcePosition']);
    const text = source.slice(Number(place?.['currentOffset']), Number(place?.['endOffset']));
    if (asArray(next['values']).length === 0) unevaluated.push(`line ${String(place?.['line'])}: ${text}`);
    pending.push(...asArray(next['children']));
  }
  return { expressions, unevaluated };
}
