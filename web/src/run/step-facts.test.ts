import { expect, test } from 'vitest';
import { factsOf } from './step-facts.ts';

test('the calls of an answer add up; a reused one is not paid twice', () => {
  const details = JSON.stringify({
    model: 'm',
    responseModel: 'm-1',
    costMicroUsd: 1_500_000,
    calls: [
      { usage: { inputTokens: 10, outputTokens: 5 }, latencyMs: 100, reused: false },
      { usage: { inputTokens: 3, outputTokens: 1 }, latencyMs: 50 },
      { usage: { inputTokens: 99, outputTokens: 99 }, reused: true },
    ],
    context: [{ documentId: 'd', version: 2, title: 'How we pay', heading: 'Fridays', score: 0.8 }],
  });
  expect(factsOf(details)).toEqual({
    model: 'm-1',
    inputTokens: 13,
    outputTokens: 6,
    latencyMs: 150,
    costUsd: 1.5,
    sources: [{ title: 'How we pay', heading: 'Fridays', score: 0.8 }],
  });
});

test('details of other steps, and broken ones, are no provenance', () => {
  expect(factsOf(undefined)).toEqual({ sources: [] });
  expect(factsOf('{')).toEqual({ sources: [] });
  expect(factsOf('{"branch":"then","model":null}')).toEqual({ sources: [] });
});
