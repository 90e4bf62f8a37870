import { expect, test } from 'vitest';
import { DatabaseClock } from './clock.ts';

test('T6 a read corrects the clock in both directions', () => {
  let local = 1_000;
  const clock = new DatabaseClock(() => local);
  clock.observe(6_000);
  expect(clock.now()).toBe(6_000);
  local = 2_000;
  clock.observe(500);
  expect(clock.now()).toBe(500);
});

test('T6 a commit that changed nothing answers with the time of an earlier change, which does not set the clock back', () => {
  const clock = new DatabaseClock(() => 1_000);
  clock.observe(6_000);
  clock.observeCommit(2_000);
  expect(clock.now()).toBe(6_000);
  clock.observeCommit(7_000);
  expect(clock.now()).toBe(7_000);
});

test('an answer without a time does not touch the clock', () => {
  const clock = new DatabaseClock(() => 1_000);
  clock.observe(0);
  clock.observeCommit(0);
  expect(clock.now()).toBe(1_000);
});
