import { expect, test } from 'vitest';
import { definitionSchema } from '../model/definition.ts';
import { indexDefinition, placeOf } from './definition-index.ts';
import { visibleFrom, visibleKey } from './scope.ts';

const t = (id: string, more: object = {}): object => ({ id, type: 'transform', value: 1, ...more });
const loop = (id: string, steps: object[]): object => ({ id, type: 'loop', over: { source: 'workflowInput', path: 'items' }, steps });

const index = indexDefinition(
  definitionSchema.parse({
    id: 'wf',
    steps: [
      t('first'),
      { id: 'if', type: 'condition', if: 'true', then: [t('yes'), t('yes2')], else: [t('no'), t('no2')] },
      loop('each', [
        t('a'),
        { id: 'fan', type: 'parallel', branches: { left: [t('l'), t('l2')], right: [t('r'), t('r2')] } },
        loop('inner', [t('b')]),
        t('c'),
      ]),
      t('risky', { onException: { no_stock: [t('x'), t('x2')], '*': [t('y')] } }),
      { id: 'split', type: 'parallel', branches: { one: [t('o')], two: [t('p')] } },
      { id: 'if2', type: 'condition', if: 'true', then: [t('also')] },
      loop('each2', [t('again')]),
      { id: 'split2', type: 'parallel', branches: { one: [t('o2')] } },
      t('last'),
    ],
  }),
);

test.each([
  ['last', 'first', 'ok'],
  ['last', 'yes', 'ok'],
  ['last', 'no2', 'ok'],
  ['last', 'x2', 'ok'],
  ['last', 'o', 'ok'],
  ['last', 'each', 'ok'],
  ['last', 'a', 'inside_loop'],
  ['last', 'l', 'inside_loop'],
  ['last', 'last', 'self'],
  ['last', 'gone', 'unknown'],
  ['first', 'last', 'later'],
  ['first', 'yes', 'later'],
  ['first', 'a', 'later'],
  ['yes2', 'yes', 'ok'],
  ['yes', 'yes2', 'later'],
  ['yes', 'if', 'ok'],
  ['no', 'if', 'ok'],
  ['if', 'yes', 'other_branch'],
  ['no', 'yes', 'other_branch'],
  ['yes2', 'no', 'other_branch'],
  ['yes', 'first', 'ok'],
  ['a', 'first', 'ok'],
  ['a', 'yes', 'ok'],
  ['a', 'each', 'later'],
  ['a', 'last', 'later'],
  ['each', 'a', 'other_branch'],
  ['l', 'a', 'ok'],
  ['l', 'fan', 'later'],
  ['l2', 'l', 'ok'],
  ['r2', 'l', 'other_branch'],
  ['b', 'l', 'ok'],
  ['c', 'b', 'inside_loop'],
  ['c', 'r2', 'ok'],
  ['x', 'risky', 'ok'],
  ['y', 'risky', 'ok'],
  ['x2', 'x', 'ok'],
  ['y', 'x', 'other_branch'],
  ['risky', 'x', 'other_branch'],
  ['o', 'p', 'other_branch'],
  ['also', 'yes2', 'ok'],
  ['also', 'yes', 'ok'],
  ['yes', 'also', 'later'],
  ['again', 'a', 'inside_loop'],
  ['again', 'c', 'inside_loop'],
  ['a', 'again', 'later'],
  ['o2', 'o', 'ok'],
  ['o', 'o2', 'later'],
  ['p', 'o', 'other_branch'],
])('from %s, the step %s: %s', (from, target, expected) => {
  const seen = visibleFrom(index, placeOf(index, from), target);
  expect(seen).toEqual(expected === 'ok' ? { ok: true, place: placeOf(index, target) } : { ok: false, fault: expected });
});

test('a step of the same iteration is found in that iteration', () => {
  const loops = [
    { stepId: 'each', index: 3, count: 5, lanes: 1 },
    { stepId: 'inner', index: 1, count: 2, lanes: 1 },
  ];
  expect(visibleKey(placeOf(index, 'a'), loops)).toBe('each[3].a');
  expect(visibleKey(placeOf(index, 'l'), loops)).toBe('each[3].fan.left.l');
  expect(visibleKey(placeOf(index, 'b'), loops)).toBe('each[3].inner[1].b');
  expect(visibleKey(placeOf(index, 'x'), loops)).toBe('risky.onException.x');
  expect(visibleKey(placeOf(index, 'no'), loops)).toBe('if.else.no');
});
