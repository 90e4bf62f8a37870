import { expect, test } from 'vitest';
import { timeScale } from './time-scale.ts';

const HOUR = 3_600_000;

test('without long gaps time is proportional', () => {
  const scale = timeScale(
    [
      { from: 0, to: 500 },
      { from: 600, to: 1_000 },
    ],
    { from: 0, to: 1_000 },
  );
  expect(scale.gaps).toEqual([]);
  expect([0, 250, 500, 1_000].map((time) => scale.at(time))).toEqual([0, 0.25, 0.5, 1]);
});

test('an hour of waiting takes little room, and the work on both sides keeps its proportions', () => {
  const scale = timeScale(
    [
      { from: 0, to: 1_000 },
      { from: HOUR, to: HOUR + 3_000 },
    ],
    { from: 0, to: HOUR + 3_000 },
  );
  expect(scale.gaps).toHaveLength(1);
  const work = scale.at(1_000) - scale.at(0);
  const later = scale.at(HOUR + 3_000) - scale.at(HOUR);
  expect(later / work).toBeCloseTo(3);
  expect(scale.at(HOUR) - scale.at(1_000)).toBeCloseTo(0.04);
});

test('times never go backwards and stay on the line', () => {
  const activity = Array.from({ length: 40 }, (_, n) => ({ from: n * HOUR, to: n * HOUR + 100 * (n + 1) }));
  const scale = timeScale(activity, { from: 0, to: 41 * HOUR });
  expect(scale.gaps.length).toBeLessThanOrEqual(6);
  let last = 0;
  for (let time = -HOUR; time < 43 * HOUR; time += HOUR / 7) {
    const place = scale.at(time);
    expect(place).toBeGreaterThanOrEqual(last);
    expect(place).toBeLessThanOrEqual(1);
    last = place;
  }
});

test('a run that has only just begun has a line, too', () => {
  const scale = timeScale([], { from: 5, to: 5 });
  expect(scale.at(5)).toBeLessThanOrEqual(1);
});
