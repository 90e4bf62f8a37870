import { expect, test } from 'vitest';
import { bm25, distinctWords, wordsOf } from './keywords.ts';

test.each([
  ['How do I get Refunds?', ['get', 'refund']],
  ['policies, boxes; status & class', ['policy', 'box', 'status', 'class']],
  ['Crème BRÛLÉE', ['creme', 'brulee']],
  ['INV-1042 costs 3.50', ['inv', '1042', 'cost', '3.50']],
  ['', []],
])('%j consists of %j', (text, words) => {
  expect(wordsOf(text)).toEqual(words);
});

test('languages without spaces have words, too', () => {
  expect(wordsOf('退款政策').length).toBeGreaterThan(1);
  expect(bm25('退款', ['退款政策说明', '运输时间'])[0]).toBeGreaterThan(0);
});

test('distinct words are limited', () => {
  expect(distinctWords('b a2 b c3 d4', 2)).toEqual(['b', 'a2']);
});

test('the text about the question scores highest, rare words count more, and nothing common scores 0', () => {
  const texts = [
    'Refunds are paid within 14 days of the return.',
    'Shipping takes 3 days.',
    'Days and days of rain.',
    'Refund refund refund refund.',
  ];
  const scores = bm25('refund within how many days', texts);
  expect(scores[0]).toBe(Math.max(...scores));
  expect(scores[1]).toBeLessThan(scores[0] ?? 0);
  expect(bm25('elephant', texts)).toEqual([0, 0, 0, 0]);
  expect(bm25('', texts)).toEqual([0, 0, 0, 0]);
  expect(bm25('refund', [])).toEqual([]);
  for (const score of scores) expect(score).toBeLessThanOrEqual(1);
});
