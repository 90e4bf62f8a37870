import { expect, test } from 'vitest';
import { definitionSchema } from '../model/definition.ts';
import {
  childLists,
  framePrefix,
  indexDefinition,
  isCondition,
  isLoop,
  isParallel,
  keyOf,
  listPath,
  loopsAround,
  placeOf,
} from './definition-index.ts';
import type { Frame } from './definition-index.ts';

const t = (id: string, more: object = {}): object => ({ id, type: 'transform', value: 1, ...more });
const parse = (steps: object[]): ReturnType<typeof definitionSchema.parse> => definitionSchema.parse({ id: 'wf', steps });

const definition = parse([
  t('first', { onException: { no_stock: [t('x')], '*': [t('y')] } }),
  { id: 'if', type: 'condition', if: 'true', then: [t('yes')], else: [t('no')] },
  {
    id: 'each',
    type: 'loop',
    over: { source: 'workflowInput', path: 'items' },
    steps: [t('a'), { id: 'fan', type: 'parallel', branches: { left: [t('l')], right: [t('r'), t('r2')] } }],
  },
]);
const index = indexDefinition(definition);
const round = { stepId: 'each', index: 4, count: 9, lanes: 2 };

test.each<[string, string, string, readonly Frame[]]>([
  ['first', 'steps[0]', 'first', []],
  ['x', 'steps[0].onException.no_stock[0]', 'first.onException.x', [{ owner: 'first', part: 'exception', code: 'no_stock' }]],
  ['y', 'steps[0].onException["*"][0]', 'first.onException.y', [{ owner: 'first', part: 'exception', code: '*' }]],
  ['yes', 'steps[1].then[0]', 'if.then.yes', [{ owner: 'if', part: 'then' }]],
  ['no', 'steps[1].else[0]', 'if.else.no', [{ owner: 'if', part: 'else' }]],
  ['a', 'steps[2].steps[0]', 'each[4].a', [{ owner: 'each', part: 'item' }]],
  [
    'r2',
    'steps[2].steps[1].branches.right[1]',
    'each[4].fan.right.r2',
    [
      { owner: 'each', part: 'item' },
      { owner: 'fan', part: 'branch', name: 'right', lane: 1 },
    ],
  ],
])('the step %s stands at %s and runs as %s', (id, path, key, frames) => {
  const place = placeOf(index, id);
  expect({ path: place.path, frames: place.frames }).toEqual({ path, frames });
  expect(place.list[place.position]).toBe(place.step);
  expect(keyOf(place, [round])).toBe(key);
});

test('all steps are found, with their depth, and ids that stand twice', () => {
  expect([...index.places.keys()].sort()).toEqual(['a', 'each', 'fan', 'first', 'if', 'l', 'no', 'r', 'r2', 'x', 'y', 'yes']);
  expect([index.depth, index.duplicates, index.definition]).toEqual([3, [], definition]);
  const twice = indexDefinition(parse([t('a'), t('b'), { id: 'c', type: 'condition', if: 'true', then: [t('a')] }, t('b', { value: 2 })]));
  expect([...twice.duplicates].sort()).toEqual(['a', 'b']);
  expect(placeOf(twice, 'a').path).toBe('steps[0]');
  expect(twice.depth).toBe(2);
});

test('what a step has inside', () => {
  const inside = (id: string): unknown =>
    childLists(placeOf(index, id).step).map(({ frame, list }) => [frame.part, list.map((step) => step.id)]);
  expect(['first', 'if', 'each', 'fan', 'a'].map(inside)).toEqual([
    [
      ['exception', ['x']],
      ['exception', ['y']],
    ],
    [
      ['then', ['yes']],
      ['else', ['no']],
    ],
    [['item', ['a', 'fan']]],
    [
      ['branch', ['l']],
      ['branch', ['r', 'r2']],
    ],
    [],
  ]);
  const short = indexDefinition(parse([{ id: 'if', type: 'condition', if: 'true', then: [t('yes')], onException: { '*': [t('z')] } }]));
  expect(childLists(placeOf(short, 'if').step).map(({ frame }) => frame.part)).toEqual(['then', 'exception']);
  const kinds = (id: string): readonly boolean[] => [isCondition, isLoop, isParallel].map((is) => is(placeOf(index, id).step));
  expect(['if', 'each', 'fan', 'a'].map(kinds)).toEqual([
    [true, false, false],
    [false, true, false],
    [false, false, true],
    [false, false, false],
  ]);
});

test('a list within a step', () => {
  expect(listPath({ owner: 'p', part: 'branch', name: 'a b', lane: 0 }, 'steps[0]')).toBe('steps[0].branches["a b"]');
});

test('a step is nowhere without its definition, and in no iteration without its loop', () => {
  expect(() => placeOf(index, 'gone')).toThrow('the pinned definition has no step "gone"');
  expect(() => keyOf(placeOf(index, 'a'), [{ ...round, stepId: 'other' }])).toThrow('no iteration of "each" is known here');
  expect(framePrefix({ owner: 'each', part: 'item' }, 'each', [{ ...round, stepId: 'other', index: 1 }, round])).toBe('each[4].');
});

test('the iterations around a step are those of the loops that enclose it', () => {
  const other = { ...round, stepId: 'other' };
  expect(loopsAround(placeOf(index, 'r'), [other, round])).toEqual([round]);
  expect(loopsAround(placeOf(index, 'yes'), [other, round])).toEqual([]);
  const inBranch = loopsAround(placeOf(index, 'r'), [{ ...round, stepId: 'fan' }]);
  expect(inBranch).toEqual([]);
});
