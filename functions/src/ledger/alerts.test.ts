import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { KilnError } from '../model/errors.ts';
import { defineAction } from '../steps/action-registry.ts';
import { ACCOUNT, member, Operations } from '../testing/operations.testing.ts';
import { acknowledgeAlert, deliverAlert, recipients } from './alerts.ts';
import { outboxRecordSchema } from '../model/outbox.ts';

const HOUR = 3_600_000;
let fails: () => void = () => undefined;
const act = defineAction({ name: 'act', input: z.looseObject({}), output: z.json(), run: () => (fails(), null) });

let ops: Operations;

beforeEach(async () => {
  fails = () => undefined;
  ops = new Operations({ actions: [act] });
  await ops.hire(member('op', ['operator']), member('owner', ['viewer'], { departments: ['finance'] }), member('boss', ['admin']));
});

const cutOff = (): never => {
  throw new KilnError('http.interrupted', 'the connection broke');
};
const told = (): (string | undefined)[][] =>
  ops.sent.filter(({ kind }) => kind === 'mail').map(({ to, subject }) => [to.split('@')[0], subject]);

async function pass(hours: number): Promise<void> {
  for (let i = 0; i < hours; i += 1) {
    await ops.host.advance(HOUR);
    await ops.reconcile();
  }
}

describe('alerts', () => {
  test('are quiet on ordinary retries', async () => {
    let failures = 2;
    fails = () => {
      if (failures-- > 0) throw new KilnError('http.server_error', '503');
    };
    await ops.publish('wf', [{ id: 'a', type: 'action', action: 'act' }]);
    const run = await ops.start('wf');
    await pass(1);
    expect(ops.run(run).status).toBe('completed');
    expect(ops.docs('alerts')).toEqual([]);
    expect(ops.docs('notifications')).toEqual([]);
  });

  test('go once to the owners, and to the admins when nobody acknowledges them', async () => {
    fails = cutOff;
    await ops.publish('wf', { owner: 'finance', steps: [{ id: 'a', type: 'action', action: 'act' }] });
    await ops.start('wf');
    await pass(3);
    expect(told()).toEqual([['owner', 'Somebody has to look: "a" of wf']]);
    await pass(3);
    expect(told()).toEqual([
      ['owner', 'Somebody has to look: "a" of wf'],
      ['boss', 'Still open: Somebody has to look: "a" of wf'],
    ]);
    await pass(24);
    expect(told().length).toBe(2);
    expect(ops.docs('notifications').map((doc) => [doc['to'], doc['kind']])).toEqual([
      ['owner', 'alert'],
      ['boss', 'alert'],
    ]);
  });

  test('are not passed on when somebody has acknowledged them, or when what they are about is over', async () => {
    fails = cutOff;
    await ops.publish('wf', [{ id: 'a', type: 'action', action: 'act' }]);
    const seen = await ops.start('wf');
    const settled = await ops.start('wf');
    const alertOf = (run: string): string => String(ops.docs('alerts').find((doc) => doc['runId'] === run)?.['alertId']);
    expect(await acknowledgeAlert(ops.runtime.store, ACCOUNT, alertOf(seen), 'op')).toBe(true);
    expect(await acknowledgeAlert(ops.runtime.store, ACCOUNT, alertOf(seen), 'op')).toBe(false);
    await ops.command(settled, 'resolve', { stepKey: 'a', argument: { outcome: 'succeeded' } });
    await pass(6);
    expect(told().map(([to]) => to)).toEqual(['op', 'op']);
    expect(ops.docs('alerts').map((doc) => doc['state'])).toEqual(['acknowledged', 'over']);
  });

  test('a delivery that is repeated tells nobody twice; a webhook is sent where one is named', async () => {
    fails = cutOff;
    await ops.publish('wf', {
      alerts: { webhook: { url: 'https://hooks.example/kiln' } },
      steps: [{ id: 'a', type: 'action', action: 'act' }],
    });
    await ops.start('wf');
    const delivery = outboxRecordSchema.parse(ops.docs('outbox').find((doc) => doc['kind'] === 'alert' && doc['body'] === '0'));
    await deliverAlert(ops.runtime, delivery);
    await ops.host.settle();
    expect(ops.sent.map(({ kind, to }) => [kind, to])).toEqual([
      ['mail', 'op@acme.example'],
      ['webhook', 'https://hooks.example/kiln'],
    ]);
    expect(JSON.parse(ops.sent[1]?.body ?? '')).toMatchObject({ type: 'alert', kind: 'unresolved', stepKey: 'a' });
  });

  test('a run that takes longer than declared is told', async () => {
    await ops.publish('wf', { alerts: { after: '2h' }, steps: [{ id: 'w', type: 'wait', for: '5h' }] });
    const run = await ops.start('wf');
    await pass(1);
    expect(told()).toEqual([]);
    await pass(3);
    expect(told()).toEqual([['op', `wf ${run} takes too long`]]);
  });
});

describe('who is told', () => {
  const people = [
    member('ann', ['viewer']),
    member('bob', ['viewer'], { departments: ['tax'] }),
    member('op', ['operator']),
    member('boss', ['admin']),
  ];
  const definition = {
    id: 'wf',
    owner: 'ann@acme.example',
    alerts: { to: ['tax'] },
    steps: [
      {
        id: 'each',
        type: 'loop' as const,
        over: { source: 'static' as const, items: [] },
        owner: 'op',
        steps: [{ id: 'x', type: 'http' }],
      },
    ],
  };
  const uids = (stepKey: string | undefined, level = 0): string[] =>
    recipients(stepKey === undefined ? {} : { stepKey }, definition, people, level).map(({ uid }) => uid);

  test('the owners of workflow and step, and those it names', () => {
    expect(uids(undefined)).toEqual(['ann', 'bob']);
    expect(uids('each[3].x')).toEqual(['ann', 'bob', 'op']);
    expect(uids('each[3].x', 1)).toEqual(['boss']);
  });

  test('the operators where nobody is named, the admins where there are none', () => {
    expect(recipients({}, undefined, people, 0).map(({ uid }) => uid)).toEqual(['op']);
    expect(recipients({}, undefined, people.slice(3), 0).map(({ uid }) => uid)).toEqual(['boss']);
  });
});
