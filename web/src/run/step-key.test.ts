import { expect, test } from 'vitest';
import { takeApart } from './step-key.ts';

const shape = (key: string): string => {
  const { enclosing, id } = takeApart(key, 'graph');
  return [
    ...enclosing.map(
      (each) =>
        `${each.ownerKey}→${each.key}:${each.part.kind === 'iteration' ? each.part.index : each.part.kind === 'branch' ? each.part.name : each.part.kind}`,
    ),
    id,
  ].join(' ');
};

test('each container on the way is named with the list that the step is in', () => {
  expect(shape('mail')).toBe('mail');
  expect(shape('check.then.mail')).toBe('check→check.then:then mail');
  expect(shape('each[17].score')).toBe('each→each[17]:17 score');
  expect(shape('each[17].fan.left.mail')).toBe('each→each[17]:17 each[17].fan→each[17].fan.left:left mail');
  expect(shape('pay.onException.note')).toBe('pay→pay.onException:exception note');
  expect(shape('a.else.each[2].b.then.c')).toBe('a→a.else:else a.else.each→a.else.each[2]:2 a.else.each[2].b→a.else.each[2].b.then:then c');
});

test('a join stands beside its container', () => {
  expect(shape('each[3].fan.$join')).toBe('each→each[3]:3 $join');
});

test('the keys of code workflows are whole', () => {
  expect(takeApart('notify.team#2', 'code')).toEqual({ enclosing: [], id: 'notify.team#2' });
});
