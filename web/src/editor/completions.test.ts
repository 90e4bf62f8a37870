import { describe, expect, test } from 'vitest';
import { isStepPath, proposalsAt, type Schemas } from './completions.ts';
import { placesOf } from './json-places.ts';

const shared = {
  id: { type: 'string' },
  type: { type: 'string' },
  timeout: { type: 'string', description: 'Longest time of an attempt.' },
};
const schemas: Schemas = {
  definition: {
    properties: { id: { type: 'string' }, steps: { type: 'array' }, onError: { enum: ['fail', 'continue'] }, input: {} },
    required: ['id', 'steps'],
  },
  steps: [
    {
      type: 'http',
      title: 'HTTP',
      description: 'Calls an address.',
      schema: { properties: { ...shared, url: { type: 'string' }, method: { enum: ['GET', 'POST'] } }, required: ['id', 'type', 'url'] },
    },
    {
      type: 'wait',
      title: 'Wait',
      description: 'Waits.',
      schema: { properties: { ...shared, event: { properties: { name: { type: 'string' } } } } },
    },
  ],
};

/** `|` marks the cursor. */
function labels(marked: string): readonly string[] | undefined {
  const position = marked.indexOf('|');
  const text = marked.replace('|', '');
  return proposalsAt(text, position, placesOf(text), schemas)?.options.map((option) => option.label);
}

describe('proposals', () => {
  test('properties that are not there yet', () => {
    expect(labels('{ "id": "x", | }')).toEqual(['steps', 'onError', 'input']);
    expect(labels('{ "steps": [ { "id": "a", "type": "http", | } ] }')).toEqual(['timeout', 'url', 'method']);
  });

  test('before a type is chosen, what all steps share', () => {
    expect(labels('{ "steps": [ { | } ] }')).toEqual(['id', 'type', 'timeout']);
  });

  test('step types and enumerations', () => {
    expect(labels('{ "steps": [ { "type": "|" } ] }')).toEqual(['http', 'wait']);
    expect(labels('{ "onError": "|" }')).toEqual(['fail', 'continue']);
    expect(labels('{ "steps": [ { "type": "http", "method": "|" } ] }')).toEqual(['GET', 'POST']);
  });

  test('inside a property of a step', () => {
    expect(labels('{ "steps": [ { "type": "wait", "event": { | } } ] }')).toEqual(['name']);
  });

  test('in a branch of a branch', () => {
    expect(labels('{ "steps": [ { "type": "parallel", "branches": { "left": [ { "type": "|" } ] } } ] }')).toEqual(['http', 'wait']);
  });

  test('references to inputs and earlier steps between braces', () => {
    const text =
      '{ "input": { "properties": { "amount": {} } }, "steps": [ { "id": "a", "type": "http" }, { "id": "b", "type": "http", "url": "x{{|}}" } ] }';
    expect(labels(text)).toEqual(['workflow_input.amount', 'step.a', 'step.b', 'loop_item', 'loop_index', 'secret.']);
  });

  test('a needed property says so, and what it inserts is valid', () => {
    const text = '{  }';
    const proposal = proposalsAt(text, 2, placesOf(text), schemas)?.options[1];
    expect(proposal).toMatchObject({ label: 'steps', insert: '"steps": []', detail: 'needed' });
  });
});

test('which paths are steps', () => {
  expect(isStepPath(['steps', 0])).toBe(true);
  expect(isStepPath(['steps', 0, 'onException', 'refused', 2])).toBe(true);
  expect(isStepPath(['steps', 0, 'inputs', 'x', 0])).toBe(false);
  expect(isStepPath(['steps'])).toBe(false);
});
