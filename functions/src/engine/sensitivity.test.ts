import { expect, test } from 'vitest';
import { definitionSchema } from '../model/definition.ts';
import { indexDefinition } from './definition-index.ts';
import type { Sensitivity } from './sensitivity.ts';

const t = (id: string, value: unknown = 1, more: object = {}): object => ({ id, type: 'transform', value, ...more });
const of = (steps: readonly object[], more: object = {}): Sensitivity =>
  indexDefinition(definitionSchema.parse({ id: 'wf', sensitive: ['salary', 'person.address'], steps, ...more })).sensitivity;
const found = (steps: readonly object[], more: object = {}): string => [...of(steps, more).steps].sort().join(' ');

test.each([
  ['the field', '{{workflow_input.salary}}', true],
  ['a part of it', 'x {{workflow_input.person.address.street}}', true],
  ['what contains it', '{{workflow_input.person}}', true],
  ['the whole input', '{{workflow_input}}', true],
  ['a field beside it', '{{workflow_input.person.name}}', false],
  ['a field whose name begins alike', '{{workflow_input.salaryBand}}', false],
  ['a secret', 'x {{secret.salary}}', false],
  ['the run', '{{run.id}}', false],
  ['nothing', 'salary', false],
  ['a mapping of the field', { source: 'workflowInput', path: 'salary' }, true],
  ['a mapping of another', { source: 'workflowInput', path: 'name' }, false],
  ['a mapping deep inside', { list: [1, null, { deep: { source: 'workflowInput', path: 'person' } }] }, true],
  ['a fixed mapping with the field in it', { source: 'static', value: '{{workflow_input.salary}}' }, true],
])('a step that refers to %s', (_name, value, expected) => {
  expect(found([t('a', value)])).toBe(expected ? 'a' : '');
});

test('numbers in a path are the same with and without brackets', () => {
  expect(found([t('a', '{{workflow_input.list[0].x}}')], { sensitive: ['list.0'] })).toBe('a');
  expect(found([t('a', '{{workflow_input.list[0].x}}'), t('b', '{{workflow_input.list[1]}}')], { sensitive: ['list[0]'] })).toBe('a');
});

test('it goes on from step to step, and back to an earlier one by a loop', () => {
  expect(found([t('a', '{{workflow_input.salary}}'), t('b', '{{step.a}}'), t('c', '{{step.b.x}}'), t('d', '{{step.other}}')])).toBe(
    'a b c',
  );
  expect(found([t('c', '{{step.b}}'), t('b', '{{step.a}}'), t('a', '{{workflow_input.salary}}')])).toBe('a b c');
  expect(found([t('a', 1, { sensitive: true }), t('b', { source: 'previousStep', stepId: 'a' }), t('c')], { sensitive: [] })).toBe('a b');
});

test('a condition tells only which way it went; what is inside a step is not its own', () => {
  const branch = {
    id: 'if',
    type: 'condition',
    if: 'workflow_input.salary > 1',
    then: [t('yes', '{{workflow_input.salary}}')],
    else: [t('no')],
  };
  expect(found([branch, t('end', '{{step.if}}')])).toBe('yes');
  expect(found([t('f', 1, { onException: { '*': [t('x', '{{workflow_input.salary}}')] } })])).toBe('x');
});

const loop = (over: object, steps: readonly object[], id = 'each'): object => ({ id, type: 'loop', over, steps });

test.each<[string, object, object, string]>([
  ['over the field', { source: 'workflowInput', path: 'salary' }, t('a', '{{loop_item}}'), 'a each'],
  ['over the field, by its index only', { source: 'workflowInput', path: 'salary' }, t('a', '{{loop_index}}'), 'each'],
  ['over something else', { source: 'workflowInput', path: 'names' }, t('a', '{{loop_item}}'), ''],
  [
    'over something else, with the field in a step',
    { source: 'workflowInput', path: 'names' },
    t('a', '{{workflow_input.salary}}'),
    'a each',
  ],
  ['over a sensitive step', { source: 'previousStep', stepId: 'pay' }, t('a', '{{loop_item.x}}'), 'a each'],
  ['over the items of another text', { source: 'static', items: ['{{workflow_input.salary}}'] }, t('a', '{{loop_item}}'), 'a each'],
  [
    'over several texts',
    { source: 'static', items: ['{{workflow_input.name}}', '{{workflow_input.salary}}'] },
    t('a', '{{loop_item}}'),
    'a each',
  ],
])('a loop %s', (_name, over, inner, expected) => {
  expect(found([t('pay', 1, { sensitive: true }), loop(over, [inner])])).toBe(
    [...expected.split(' ').filter((id) => id !== ''), 'pay'].join(' '),
  );
});

test('a loop over the item of a loop is as sensitive as that, and the item is the innermost one', () => {
  const inner = loop({ source: 'loopItem', path: 'parts' }, [t('x', '{{loop_item}}')], 'inner');
  expect(found([loop({ source: 'workflowInput', path: 'salary' }, [inner])])).toBe('each inner x');
  const harmless = loop({ source: 'workflowInput', path: 'names' }, [t('x', '{{loop_item}}')], 'inner');
  expect(found([loop({ source: 'workflowInput', path: 'salary' }, [harmless, t('y', '{{loop_item}}')])])).toBe('each y');
  const branch = { id: 'if', type: 'condition', if: 'true', then: [t('x', '{{loop_item}}')] };
  expect(found([loop({ source: 'workflowInput', path: 'salary' }, [branch])])).toBe('each x');
});

test('a parallel is as sensitive as its branches', () => {
  expect(
    found([{ id: 'fan', type: 'parallel', branches: { l: [t('l', '{{workflow_input.salary}}')], r: [t('r')] } }, t('e', '{{step.fan}}')]),
  ).toBe('e fan l');
});

test('the output of the run', () => {
  const steps = [t('a', '{{workflow_input.salary}}'), t('b')];
  expect(of(steps, { output: { x: '{{step.a}}' } }).output).toBe(true);
  expect(of(steps, { output: { x: '{{step.b}}' } }).output).toBe(false);
  expect(of(steps).output).toBe(false);
  expect(of([t('a')], { output: '{{workflow_input.salary}}' }).output).toBe(true);
  expect(of([t('a')], { output: '{{workflow_input.salary}}', sensitive: undefined }).output).toBe(false);
  expect(of([t('a', 1, { sensitive: true })], { output: '{{step.a}}', sensitive: undefined }).output).toBe(true);
});

test('whether a value has something of it in it', () => {
  const index = indexDefinition(
    definitionSchema.parse({ id: 'wf', sensitive: ['salary'], steps: [loop({ source: 'workflowInput', path: 'salary' }, [t('a')])] }),
  );
  const reaches: Sensitivity['reaches'] = (value, place) => index.sensitivity.reaches(value, place);
  expect(reaches('{{workflow_input.salary}}')).toBe(true);
  expect(reaches('{{loop_item}}', index.places.get('a'))).toBe(true);
  expect(reaches('{{loop_item}}', index.places.get('each'))).toBe(false);
  expect(reaches('{{loop_item}}')).toBe(false);
});

test('a field that is no path is a name', () => {
  expect(found([t('a', '{{workflow_input["a b"]}}'), t('b', '{{workflow_input.other}}')], { sensitive: ['a b'] })).toBe('a');
});
