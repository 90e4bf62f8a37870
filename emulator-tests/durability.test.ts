import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Installation } from './installation.ts';

describe('a functions process that is killed', () => {
  let kiln: Installation;
  beforeAll(async () => {
    kiln = await Installation.start({ name: 'killed', worker: true });
  });
  afterAll(async () => {
    await kiln.close();
  });

  test('in the middle of an attempt loses nothing: the run completes, and the attempt’s fate is visible', async () => {
    await kiln.publish('wf', [
      { id: 'before', type: 'transform', value: 1 },
      { id: 'call', type: 'action', action: 'test.call', timeout: '20s' },
      { id: 'after', type: 'transform', value: '{{step.call}}' },
    ]);
    const called = new Promise<void>((resolve) => {
      kiln.target.answer = (_call, nth) => {
        if (nth > 1) return { body: 'done' };
        resolve();
        return { hang: true };
      };
    });
    const run = await kiln.start('wf');
    await called;
    await kiln.host.kill();
    expect(await kiln.ended(run)).toMatchObject({ status: 'completed' });
    expect(await kiln.output(run)).toBe('done');
    const steps = await kiln.steps(run);
    expect(steps.get('call')?.attempts.map(({ outcome }) => outcome)).toEqual(['lost', 'succeeded']);
    expect(steps.get('before')?.state).toBe('succeeded');
    // Both calls carried the same key, so the target can tell that they are one.
    expect([...kiln.target.perKey().values()]).toEqual([2]);
  });

  test('in the middle of an effect that is not idempotent: it is not repeated, and a person is told', async () => {
    await kiln.publish('pay', [{ id: 'charge', type: 'action', action: 'test.charge', timeout: '20s' }]);
    const before = kiln.target.calls.length;
    const called = new Promise<void>((resolve) => {
      kiln.target.answer = () => {
        resolve();
        return { hang: true };
      };
    });
    const run = await kiln.start('pay');
    await called;
    await kiln.host.kill();
    await kiln.host.until(async () => (await kiln.states(run))['charge'] === 'unresolved');
    expect((await kiln.steps(run)).get('charge')).toMatchObject({ error: { code: 'step.lost', class: 'unknown_outcome' } });
    expect(kiln.target.calls.length - before).toBe(1);
  });

  test('while deliveries are doubled, dropped and reordered: every run ends with the same result', async () => {
    kiln.target.answer = ({ body }) => ({ body });
    await kiln.publish('mixed', [
      {
        id: 'each',
        type: 'loop',
        concurrency: 4,
        over: { source: 'workflowInput', path: 'items' },
        steps: [{ id: 'call', type: 'action', action: 'test.call', inputs: { v: '{{loop_item}}' } }],
      },
      {
        id: 'fan',
        type: 'parallel',
        branches: { a: [{ id: 'w', type: 'wait', for: '10s' }], b: [{ id: 'b', type: 'transform', value: '{{step.each}}' }] },
      },
      { id: 'end', type: 'transform', value: '{{step.b}}' },
    ]);
    kiln.host.setFaults({ duplicate: 0.2, drop: 0.1, delay: 0.1 });
    const items = [1, 2, 3, 4, 5, 6];
    const runs: string[] = [];
    for (let i = 0; i < 10; i += 1) runs.push(await kiln.start('mixed', { items }));
    for (const run of runs) {
      expect((await kiln.ended(run)).status).toBe('completed');
      expect(await kiln.output(run)).toEqual(items.map((v) => ({ v })));
    }
    kiln.host.setFaults({ duplicate: 0, drop: 0, delay: 0 });
  });
});

describe('a run of 1,000 straight steps', () => {
  test('reads and writes in its last 100 steps what it did in its first 100', async () => {
    const kiln = await Installation.start({ name: 'thousand' });
    const steps = Array.from({ length: 1_000 }, (_, i) => ({ id: `s${i}`, type: 'transform', value: i === 0 ? 0 : `{{step.s${i - 1}}}` }));
    await kiln.publish('long', { steps });
    const runId = await kiln.start('long');
    const marks: { at: number; reads: number; writes: number }[] = [];
    const take = (at: number): void => {
      const { reads, writes } = kiln.host.usage.total();
      marks.push({ at, reads, writes });
    };
    // The step that a listener sees created says how far the run is.
    const wanted = new Set([100, 200, 899, 999]);
    const stop = kiln.host
      .firestore()
      .collection(`accounts/acme/runs/${runId}/steps`)
      .where('seq', 'in', [...wanted])
      .onSnapshot((snapshot) => {
        for (const change of snapshot.docChanges()) if (change.type === 'added') take(Number(change.doc.get('seq')));
      });
    await kiln.ended(runId);
    stop();
    const at = (seq: number) => marks.find((mark) => mark.at === seq) ?? { reads: Number.NaN, writes: Number.NaN };
    const early = { reads: at(200).reads - at(100).reads, writes: at(200).writes - at(100).writes };
    const late = { reads: at(999).reads - at(899).reads, writes: at(999).writes - at(899).writes };
    process.stdout.write(`documents in steps 100 to 200: ${JSON.stringify(early)}; in steps 899 to 999: ${JSON.stringify(late)}\n`);
    // The listener sees a step a few steps late, the same early as late.
    expect(Math.abs(late.writes - early.writes)).toBeLessThanOrEqual(20);
    expect(Math.abs(late.reads - early.reads)).toBeLessThanOrEqual(20);
    await kiln.close();
  }, 240_000);
});
