import { expect, test } from 'vitest';
import { cost, prices } from './prices.ts';

const usage = { inputTokens: 1_000_000, cachedInputTokens: 0, outputTokens: 1_000_000, reasoningTokens: 0 };

test('a million tokens each way cost the listed dollars', () => {
  expect(cost(usage, 'gpt-4.1-mini')).toBe(2_000_000);
  expect(cost({ ...usage, outputTokens: 0 }, 'text-embedding-3-small')).toBe(20_000);
});

test('cached input is cheaper, reasoning is part of the output', () => {
  expect(cost({ inputTokens: 10_000, cachedInputTokens: 8_000, outputTokens: 1_000, reasoningTokens: 900 }, 'gpt-5-mini')).toBe(
    2_000 * 0.25 + 8_000 * 0.025 + 1_000 * 2,
  );
});

test('a dated model has the price of its name, unless it has one of its own', () => {
  expect(cost(usage, 'gpt-5-mini-2025-08-07')).toBe(cost(usage, 'gpt-5-mini'));
  expect(cost(usage, 'gpt-4o-2024-08-06')).toBe(12_500_000);
  expect(cost(usage, 'gpt-4o-2024-05-13')).toBe(20_000_000);
});

test('a long prompt is billed at the long rates', () => {
  expect(cost({ ...usage, inputTokens: 272_000, outputTokens: 0 }, 'gpt-5.6')).toBe(1_360_000);
  expect(cost({ ...usage, inputTokens: 272_001, outputTokens: 0 }, 'gpt-5.6')).toBe(2_720_010);
});

test('a model without a price has no cost rather than none to pay', () => {
  for (const model of ['kiln-dev-model', 'gpt-5-turbo', '', 'toString', '__proto__']) expect(cost(usage, model)).toBeUndefined();
  expect(cost(usage, 'house-model', { 'house-model': { input: 1, cachedInput: 0, output: 0.5 } })).toBe(1_500_000);
});

test('no price is negative, and cached input never costs more than fresh', () => {
  for (const entry of Object.values(prices)) {
    expect(Math.min(entry.input, entry.cachedInput, entry.output)).toBeGreaterThanOrEqual(0);
    expect(entry.cachedInput).toBeLessThanOrEqual(entry.input);
  }
});
