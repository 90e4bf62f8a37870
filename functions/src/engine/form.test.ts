import { expect, test } from 'vitest';
import { canonicalJson } from './json.ts';
import { faultOfValues } from './form.ts';

const form = canonicalJson({ type: 'object', properties: { amount: { type: 'integer' } }, additionalProperties: false });

test.each([
  ['{"amount":3}', undefined],
  ['{"amount":"3"}', /^the edited values do not fit the form: \/amount: /],
  ['[]', /^the edited values do not fit the form: the whole: /],
  ['{', /^the edited values cannot be read: /],
])('%s', (values, fault) => {
  const found = faultOfValues(form, values);
  if (fault === undefined) expect(found).toBeUndefined();
  else expect(found).toMatch(fault);
});

test('names five faults at most', () => {
  const values = canonicalJson(Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`field${n}`, n])));
  expect(faultOfValues(form, values)?.split('; ')).toHaveLength(5);
});
