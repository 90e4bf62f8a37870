import { beforeEach, describe, expect, test } from 'vitest';
import { remove } from '../ledger/store.ts';
import { paths } from '../model/paths.ts';
import { ACCOUNT, member, Operations } from '../testing/operations.testing.ts';

const HOUR = 3_600_000;
let ops: Operations;

beforeEach(async () => {
  ops = new Operations();
  await ops.hire(member('op', ['operator']));
  await ops.publish('wf', [
    { id: 'w', type: 'wait', for: '2h' },
    { id: 'end', type: 'transform', value: 'done' },
  ]);
});

const damage = (path: string, data: object): Promise<unknown> => ops.host.store.commit([{ op: 'update', path, data }]);

async function pass(hours: number): Promise<void> {
  for (let i = 0; i < hours * 4; i += 1) {
    await ops.host.advance(HOUR / 4);
    await ops.reconcile();
  }
}

describe('the audit', () => {
  test('finds nothing wrong with runs that wait, are paused, or wait for a person', async () => {
    await ops.start('wf');
    const paused = await ops.start('wf');
    await ops.command(paused, 'pause');
    await pass(1);
    expect(ops.docs('alerts')).toEqual([]);
  });

  test('C7 sets a step that nobody would look at again going, without troubling anybody', async () => {
    const run = await ops.start('wf');
    await damage(paths.step(ACCOUNT, run, 'w'), { due: remove });
    // The doorbell was lost as well: only the audit can find it.
    ops.host.loseRings();
    await pass(3);
    expect(ops.run(run).status).toBe('completed');
    expect(ops.docs('alerts')).toEqual([]);
  });

  test('a run that is lost for good is told once', async () => {
    const run = await ops.start('wf');
    await damage(paths.step(ACCOUNT, run, 'w'), { state: 'cancelled', due: remove });
    await pass(2);
    expect(ops.docs('alerts')).toMatchObject([{ kind: 'stuck', runId: run }]);
    expect(ops.sent.filter(({ to }) => to === 'op@acme.example').length).toBe(1);
  });

  test('a document that cannot be read is put off and told once; everything else goes on', async () => {
    const broken = await ops.start('wf');
    const fine = await ops.start('wf');
    await damage(paths.step(ACCOUNT, broken, 'w'), { state: 'nonsense' });
    await damage(paths.step(ACCOUNT, broken, 'w'), { due: '0|0000000000001' });
    ops.host.loseRings();
    await pass(4);
    expect(ops.run(fine).status).toBe('completed');
    expect(ops.docs('alerts').map((doc) => [doc['kind'], doc['runId']])).toEqual([['stuck', broken]]);
  });
});
