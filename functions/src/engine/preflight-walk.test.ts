import { expect, test } from 'vitest';
import { definitionLimits } from '../model/definition.ts';
import type { Definition } from '../model/definition.ts';
import { keyOf } from './definition-index.ts';
import { parseDefinition } from './parse-definition.ts';
import { allSteps } from './preflight-walk.ts';

const any = (id: string, more: object = {}): object => ({ id, type: 'any', ...more });
const steps = [
  any('first', { onException: { rejected: [any('handled', { onException: { again: [any('twice')] } })] } }),
  { id: 'c', type: 'condition', if: 'true', then: [any('yes'), any('also')], else: [any('no')] },
  {
    id: 'each',
    type: 'loop',
    over: [1],
    steps: [any('inEach'), { id: 'fan', type: 'parallel', branches: { left: [any('l')], right: [any('r')] } }],
    onException: { any: [any('after')] },
  },
  any('last'),
];

test('every step, in the order of the text, with its place', () => {
  const found = allSteps({ id: 'w', steps } as unknown as Definition);
  const order = 'first handled twice c yes also no each inEach fan l r after last';
  expect(found.map(({ step }) => step.id).join(' ')).toBe(order);
  expect(found.find(({ step }) => step.id === 'twice')?.path).toBe('steps[0].onException.rejected[0].onException.again[0]');
});

test('a key is at most as long as a run makes it, in any iteration that a loop can have', () => {
  const index = 9_999_999;
  expect(index).toBeGreaterThan(definitionLimits.maxLoopItems);
  const loops = [{ stepId: 'each', index, count: index + 1, lanes: 1 }];
  for (const stand of allSteps({ id: 'w', steps } as unknown as Definition)) {
    const key = keyOf(stand, loops);
    expect(stand.keyLength, key).toBe(key.length);
    const owner = stand.frames.at(-1)?.owner;
    expect(stand.ownerKeyLength, key).toBe(owner === undefined ? 0 : key.lastIndexOf(owner) + owner.length);
  }
});

test('a definition of exactly the largest size is read', () => {
  const of = (text: string): object => ({ id: 'w', steps: [any('a', { text })] });
  const sized = (bytes: number): object => of('x'.repeat(bytes - JSON.stringify(of('')).length));
  expect(parseDefinition(sized(definitionLimits.maxDefinitionBytes)).problems).toEqual([]);
  const message = expect.stringContaining('the definition has 524289 bytes as JSON; the limit is 524288. Move parts') as string;
  expect(parseDefinition(sized(definitionLimits.maxDefinitionBytes + 1)).problems).toEqual([
    { path: '', code: 'definition.invalid', message },
  ]);
});
