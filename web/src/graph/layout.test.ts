import { expect, test } from 'vitest';
import type { StepConfig } from '@model/definition.ts';
import { graphOf, placed } from './layout.ts';

const words = { yes: 'yes', no: 'no', each: 'each' };
const step = (id: string): StepConfig => ({ id, type: 'action' });
const edges = (steps: readonly StepConfig[]): string[] =>
  graphOf({ steps: [...steps] }, words).edges.map(
    (edge) => `${edge.from}${edge.back ? '⤴' : '→'}${edge.to}${edge.label === '' ? '' : ` (${edge.label})`}`,
  );

test('both sides of a condition lead on, also the one that is missing', () => {
  const check: StepConfig = { id: 'check', type: 'condition', if: 'true', then: [step('a')] };
  expect(edges([check, step('b')])).toEqual(['check→a (yes)', 'a→b', 'check→b (no)']);
});

test('all branches lead to the next step', () => {
  const fan: StepConfig = { id: 'fan', type: 'parallel', branches: { left: [step('a')], right: [step('b')] } };
  expect(edges([fan, step('c')])).toEqual(['fan→a (left)', 'fan→b (right)', 'a→c', 'b→c']);
});

test('an iteration leads back to its loop, and the loop leads on', () => {
  const each: StepConfig = { id: 'each', type: 'loop', over: { source: 'static', items: [] }, steps: [step('a'), step('b')] };
  expect(edges([each, step('c')])).toEqual(['each→a (each)', 'a→b', 'b⤴each', 'each→c']);
});

test('an exception path joins what follows', () => {
  const pay: StepConfig = { id: 'pay', type: 'action', onException: { refused: [step('note')] } };
  expect(edges([pay, step('end')])).toEqual(['pay→note (refused)', 'pay→end', 'note→end']);
});

test('a path that ends in a failure leads nowhere', () => {
  const pay: StepConfig = { id: 'pay', type: 'action', onException: { refused: [{ id: 'stop', type: 'fail', code: 'refused' }] } };
  expect(edges([pay, step('end')])).toEqual(['pay→stop (refused)', 'pay→end']);
});

test('no two nodes are in the same place', () => {
  const fan: StepConfig = { id: 'fan', type: 'parallel', branches: { left: [step('a')], right: [step('b')] } };
  const places = placed(graphOf({ steps: [fan, step('c')] }, words)).map(({ x, y }) => `${x},${y}`);
  expect(new Set(places).size).toBe(4);
});
