import { expect, test } from 'vitest';
import { digestOf, parseShown, rulesOf } from './shown.ts';

test('evidence of an unknown kind is counted, not passed over', () => {
  const shown = parseShown(
    JSON.stringify({ title: 'Pay', evidence: [{ kind: 'text', text: 'hello' }, { kind: 'hologram' }], values: { amount: 1 } }),
  );
  expect(shown.evidence).toEqual([{ kind: 'text', text: 'hello' }]);
  expect(shown.unreadable).toBe(1);
  expect(shown.values).toEqual({ amount: 1 });
});

test('the digest is the engine’s', async () => {
  expect(await digestOf('{}')).toBe('44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a');
});

test('rules that cannot be read do not break the page', () => {
  expect(rulesOf({ approvers: 'x', quorum: '{', schedule: '' })).toEqual({ panels: [], quorum: 'any', agenda: undefined });
});
