import { expect, test } from 'vitest';
import { errorCodes } from '../model/errors.ts';
import { didNothing } from './harmless.ts';

/** A new code belongs to one side or the other on purpose: one that is wrongly harmless lets another run pay again. */
const mayHaveActed: Readonly<Record<string, string>> = {
  condition: 'syntax type failed',
  payload: 'unsupported too_large too_deep invalid_json',
  schema: 'mismatch invalid',
  preflight: 'failed',
  schedule: 'invalid',
  state: 'not_allowed',
  command: 'refused',
  step: 'exceeds_limit lost failed branch_failed iteration_failed child_failed',
  loop: 'not_a_list too_many_items',
  approval: 'too_many no_eligible',
  run: 'deadline active_timeout too_many_steps too_deep cancelled not_compensated not_found diverged',
  code: 'name_invalid name_twice outside foreign_await threw too_many_at_once path_reserved version_missing',
  recipe: 'not_found',
  mcp: 'tool_failed',
  http: 'interrupted too_large invalid_response unclear_answer',
  webhook: 'refused',
  effect: 'unknown unconfirmed busy',
  stored: 'newer_version',
  auth: 'required forbidden',
  internal: '',
};

test('which failures say that nothing happened, and which do not', () => {
  const found: Record<string, string> = {};
  for (const [code, { class: errorClass }] of Object.entries(errorCodes)) {
    if (didNothing({ code, class: errorClass })) continue;
    const [area = '', name = ''] = code.split('.');
    found[area] = `${found[area] ?? ''} ${name}`.trim();
  }
  expect(found).toEqual(mayHaveActed);
});

test.each([
  ['no code of Kiln', 'http.client_error.of.mine', 'not_retryable', false],
  ['none either', 'my.http.client_error', 'not_retryable', false],
  ['a business exception, which is an answer', 'credit_refused', 'business', true],
  ['the same code where nobody knows what happened', 'step.timeout', 'unknown_outcome', false],
  ['a timeout before anything was sent', 'step.timeout', 'retryable', true],
] as const)('%s: %s (%s)', (_case, code, errorClass, expected) => {
  expect(didNothing({ code, class: errorClass })).toBe(expected);
});
