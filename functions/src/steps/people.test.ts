import { expect, test } from 'vitest';
import { notificationRecordSchema, outboxRecordSchema } from '../model/outbox.ts';
import { createTestKit } from '../testing/test-kit.ts';
import type { TestKit } from '../testing/test-kit.ts';
import { person } from '../testing/person.ts';

const members = [
  person('ada', { departments: ['billing'] }, 'test'),
  person('bo', { departments: ['billing', 'support'], email: '' }, 'test'),
  person('cy', { departments: ['support'] }, 'test'),
  person('gone', { departments: ['billing'], active: false }, 'test'),
];

function kitFor(steps: readonly object[]): TestKit {
  return createTestKit({ definitions: { wf: { steps } }, members });
}

function written(kit: TestKit) {
  const docs = [...kit.host.store.all()];
  const of = (collection: string) => docs.filter((doc) => doc.path.split('/').at(-2) === collection).map((doc) => doc.data);
  return {
    notifications: of('notifications').map((data) => notificationRecordSchema.parse(data)),
    mails: of('outbox').map((data) => outboxRecordSchema.parse(data)),
  };
}

test('a handoff tells the active people of a department once, and does not wait', async () => {
  const kit = kitFor([
    { id: 'give', type: 'handoff', department: 'billing', title: 'Case {{workflow_input.n}}', message: 'Please take over.' },
    { id: 'after', type: 'transform', value: '{{step.give.told}}' },
  ]);
  const run = await kit.start('wf', { n: 7 });
  expect(await kit.result(run)).toEqual(['ada', 'bo']);
  const { notifications, mails } = written(kit);
  expect(notifications.map(({ to, kind, title, link }) => ({ to, kind, title, link }))).toEqual([
    { to: 'ada', kind: 'handoff', title: 'Case 7', link: `/runs/test/${run.runId}` },
    { to: 'bo', kind: 'handoff', title: 'Case 7', link: `/runs/test/${run.runId}` },
  ]);
  // Nobody writes to an address that is not there.
  expect(mails.map(({ to, subject, body }) => ({ to, subject, body }))).toEqual([
    { to: 'ada@acme.example', subject: 'Case 7', body: 'Hello Ada,\n\nPlease take over.\n' },
  ]);
});

test('each iteration of a loop tells its own', async () => {
  const loop = {
    id: 'each',
    type: 'loop',
    over: { source: 'static', items: [1, 2] },
    steps: [{ id: 'tell', type: 'notify', to: 'cy', title: 'Item {{loop_item}}' }],
  };
  const kit = kitFor([loop]);
  await kit.result(await kit.start('wf'));
  const { notifications } = written(kit);
  expect(notifications.map(({ title }) => title).sort()).toEqual(['Item 1', 'Item 2']);
  expect(new Set(notifications.map(({ id }) => id)).size).toBe(2);
});

test('notify takes uids and addresses, each person once, and only members', async () => {
  const kit = kitFor([{ id: 'tell', type: 'notify', to: ['cy', 'CY@acme.example', 'ada@acme.example'], title: 'Done', mail: false }]);
  expect(await kit.result(await kit.start('wf'))).toEqual({ told: ['cy', 'ada'] });
  expect(written(kit).mails).toEqual([]);
  const outside = kitFor([{ id: 'tell', type: 'notify', to: ['cy', 'thief@evil.example'], title: 'All our data' }]);
  expect(outside.step(await outside.start('wf'), 'tell').error).toMatchObject({
    code: 'notify.nobody',
    message: expect.stringContaining('thief@evil.example') as string,
  });
  expect(written(outside).notifications).toEqual([]);
});

test('a department without people is an error that names the others', async () => {
  const kit = kitFor([{ id: 'give', type: 'handoff', department: 'legal', title: 'Case' }]);
  expect(kit.step(await kit.start('wf'), 'give').error).toMatchObject({
    code: 'notify.nobody',
    message: expect.stringContaining('billing, support') as string,
  });
});
