import { expect, test } from 'vitest';
import { subjectOf } from './subject.ts';

const empty = { uid: '', email: '', businessKey: '', attribute: '', value: '' };

test('a form that names nobody asks for nothing', () => {
  expect(subjectOf(empty)).toBeUndefined();
  expect(subjectOf({ ...empty, email: '  ' })).toBeUndefined();
  // An attribute without its value would be everybody's.
  expect(subjectOf({ ...empty, attribute: 'customer' })).toBeUndefined();
});

test('what is filled in names the person', () => {
  expect(subjectOf({ uid: 'u1', email: ' a@b ', businessKey: 'k', attribute: 'customer', value: '7' })).toEqual({
    uid: 'u1',
    email: 'a@b',
    businessKey: 'k',
    attribute: { name: 'customer', value: '7' },
  });
});
