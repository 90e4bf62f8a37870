import { describe, expect, test } from 'vitest';
import { eventRecord } from '../../functions/src/ledger/events.ts';
import { storePayload } from '../../functions/src/ledger/payloads.ts';
import { heldStep } from '../../functions/src/ledger/steps.ts';
import { commandDocument } from '../../functions/src/model/client-documents.ts';
import { paths } from '../../functions/src/model/paths.ts';
import { attend } from '../../functions/src/runner/attend.ts';
import { attendRun } from '../../functions/src/runner/runs.ts';
import type { Runtime } from '../../functions/src/runner/runtime.ts';
import { attendEvent } from '../../functions/src/ledger/events.ts';
import { attendCommand } from '../../functions/src/ledger/commands.ts';
import type { Action } from '../../functions/src/steps/action-registry.ts';
import { ACCOUNT, Stage } from './stage.ts';

const anything = { safeParse: (data: unknown) => ({ success: true, data }) } as unknown as Action['input'];
const keyed: Action = { name: 'keyed', input: anything, output: anything, idempotent: true, run: () => 'done' };
const charge: Action = { name: 'charge', input: anything, output: anything, run: () => 'done' };
const t = (id: string): object => ({ id, type: 'transform', value: id });
const act = (id: string, action = 'keyed', more: object = {}): object => ({ id, type: 'action', action, timeout: '20s', ...more });
const paid = (id: string, more: object = {}): object => ({ id, type: 'wait', event: { name: 'paid' }, timeout: '1h', ...more });
const HOUR = 3_600_000;

function event(stage: Stage, eventId: string, name = 'paid'): Promise<unknown> {
  const { payload } = storePayload({ accountId: ACCOUNT, runId: eventId }, 'p', '{"ok":true}');
  const data = eventRecord(ACCOUNT, { eventId, name, payload: { ok: true }, source: 'test' }, payload, stage.now);
  return stage.write({ op: 'create', path: paths.event(ACCOUNT, eventId), data });
}

const ring =
  (runId: string, key: string, hop = 0) =>
  (runtime: Runtime) =>
    attend(runtime, { accountId: ACCOUNT, runId, key }, { kind: 'doorbell', hop });
const trigger = (stage: Stage, runId: string, key: string) => {
  const snapshot = stage.store.peek(paths.step(ACCOUNT, runId, key));
  if (snapshot === undefined) throw new Error(`no step ${key}`);
  return (runtime: Runtime) => attend(runtime, { accountId: ACCOUNT, runId, key }, { kind: 'trigger', held: heldStep(snapshot) });
};

describe('D: delivery', () => {
  test('D1 an event counts whenever it comes: before the wait, while it is being committed, at the same moment', async () => {
    // The event is stored while the wait's commit is about to happen, and its trigger runs before, or after.
    for (const eventFirst of [true, false]) {
      const stage = new Stage({ wf: [paid('w')] });
      const runId = await stage.start('wf');
      await stage.perform((runtime) => attendRun(runtime, { accountId: ACCOUNT, runId }));
      const waiting = await stage.enter(trigger(stage, runId, 'w'));
      await waiting.until('commit');
      await event(stage, 'e1');
      const meeting = await stage.enter((runtime) => attendEvent(runtime, ACCOUNT, 'e1'));
      if (eventFirst) await meeting.finish();
      await waiting.finish();
      if (!eventFirst) await meeting.finish();
      await stage.deliverAll();
      expect(stage.step(runId, 'w')).toMatchObject({ state: 'succeeded' });
      expect(stage.step(runId, 'w')?.output?.json).toContain('"timedOut":false');
      expect(stage.run(runId).status).toBe('completed');
    }
  });

  test('D2 three waits that timed out take nothing: the fourth gets the event', async () => {
    const stage = new Stage({ wf: [paid('a'), paid('b'), paid('c'), paid('d')] });
    const runId = await stage.start('wf');
    await stage.deliverAll();
    for (const key of ['a', 'b', 'c']) {
      stage.now += HOUR;
      await stage.perform(ring(runId, key));
      await stage.deliverAll();
    }
    await event(stage, 'e1');
    await stage.deliverAll();
    expect(stage.step(runId, 'd')?.output?.json).toContain('"id":"e1"');
    expect(stage.run(runId).status).toBe('completed');
  });

  test('D3 a trigger that comes twice, at the same time and much later, commits nothing the second time', async () => {
    const stage = new Stage({ wf: [act('a'), t('b')] }, [keyed]);
    const runId = await stage.start('wf');
    stage.take(runId);

    await stage.perform((runtime) => attendRun(runtime, { accountId: ACCOUNT, runId }));
    const work = trigger(stage, runId, 'a');
    const [first, second] = [await stage.enter(work), await stage.enter(work)];
    await first.until('commit');
    await second.until('commit');
    await first.finish();
    await second.finish();
    expect(stage.effects).toHaveLength(1);
    await stage.deliverAll();
    const before = stage.store.peek(paths.step(ACCOUNT, runId, 'a'))?.updateTime;
    stage.now += 10 * 60_000;
    await stage.perform(work);
    expect(stage.store.peek(paths.step(ACCOUNT, runId, 'a'))?.updateTime).toBe(before);
    expect(stage.created).toEqual([]);
    expect(stage.effects).toHaveLength(1);
    expect(stage.run(runId).status).toBe('completed');
  });

  test('D4 two handlers that are called for one document both do their work: nothing is told apart by the event alone', async () => {
    const stage = new Stage({ wf: [paid('w')], other: [paid('w')] });
    const runs = [await stage.start('wf'), await stage.start('other')];
    await stage.deliverAll();
    await event(stage, 'e1');
    await stage.deliverAll();
    // One event, one for each run: what was used up is noted by run, not by event.
    expect(runs.map((runId) => stage.run(runId).status)).toEqual(['completed', 'completed']);
  });

  test('D5 triggers that come in the wrong order act on the step as it is', async () => {
    const stage = new Stage({ wf: [t('a'), t('b'), t('c')] });
    const runId = await stage.start('wf');
    await stage.deliverAll();
    const old = ['c', 'a', 'b'].map((key) => trigger(stage, runId, key));
    for (const work of old) await stage.perform(work);
    expect(stage.run(runId)).toMatchObject({ status: 'completed' });
    expect(stage.created).toEqual([]);
  });

  test('D6 what makes a step go on is a new document or the clock, never a write that changes nothing', async () => {
    const stage = new Stage({ wf: [act('a'), t('b')] }, [keyed]);
    const runId = await stage.start('wf');
    await stage.deliverAll();
    // Each step that began was created by the step before it: one creation, one trigger.
    expect(stage.step(runId, 'b')).toMatchObject({ after: 'a', state: 'succeeded' });
  });

  test('D7 a trigger or a doorbell that never comes: the reconciler moves the run on, and is harmless when run again', async () => {
    const stage = new Stage({ wf: [t('a'), { id: 'w', type: 'wait', for: '1h' }, t('b')] });
    const runId = await stage.start('wf');
    for (let minute = 0; minute < 70; minute += 1) {
      stage.created.length = 0;
      stage.rings.length = 0;
      stage.now += 60_000;
      await stage.reconcile();
      await stage.reconcile();
    }
    expect(stage.run(runId).status).toBe('completed');
  });

  test('D8 a wake for something else does not start a step that is in flight', async () => {
    const branches = { slow: [act('a')], wait: [paid('w')] };
    const stage = new Stage({ wf: [{ id: 'p', type: 'parallel', branches }] }, [keyed]);
    const runId = await stage.start('wf');

    await stage.perform((runtime) => attendRun(runtime, { accountId: ACCOUNT, runId }));
    await stage.perform(trigger(stage, runId, 'p'));
    const slow = await stage.enter(trigger(stage, runId, 'p.slow.a'));
    await slow.until('answer keyed');
    await stage.perform(trigger(stage, runId, 'p.wait.w'));
    await event(stage, 'e1');
    await stage.perform((runtime) => attendEvent(runtime, ACCOUNT, 'e1'));
    // Neither the other step's wake nor a ring for this one starts it again while its lease lives.
    await stage.perform(ring(runId, 'p.slow.a'));
    await stage.perform((runtime) => attend(runtime, { accountId: ACCOUNT, runId, key: 'p.slow.a' }, { kind: 'reconciler' }));
    expect(stage.effects).toHaveLength(1);
    await slow.finish();
    await stage.deliverAll();
    expect(stage.run(runId).status).toBe('completed');
    expect(stage.effects).toHaveLength(1);
  });

  test('D10 a step that never returns is given up after its attempts, although no handler came back to say so', async () => {
    const stage = new Stage({ wf: [act('a', 'keyed', { retry: { maxAttempts: 3 } })] }, [keyed]);
    const runId = await stage.start('wf');
    stage.created.length = 0;
    for (let minute = 0; minute < 15; minute += 1) {
      stage.now += 60_000;
      // Each performer reaches the call and then dies with its process.
      const doomed = await stage.enter((runtime) => attend(runtime, { accountId: ACCOUNT, runId, key: 'a' }, { kind: 'reconciler' }));
      while (doomed.next !== undefined && !doomed.next.startsWith('answer')) await doomed.go();
      if (doomed.next !== undefined) doomed.die();
      await stage.perform((runtime) => attendRun(runtime, { accountId: ACCOUNT, runId }));
    }
    expect(stage.step(runId, 'a')).toMatchObject({ state: 'failed', attempt: 3, error: { code: 'step.exceeds_limit' } });
    expect(stage.run(runId)).toMatchObject({ status: 'failed', error: { code: 'step.exceeds_limit' } });
    expect(new Set(stage.effects).size).toBe(1);
  });
});

describe('R: retries, lost replies, cancel', () => {
  test.each(['the first', 'the second'])(
    'R1 %s of two attempts that are under way at once is accepted, the other discarded',
    async (winner) => {
      const stage = new Stage({ wf: [act('a'), t('b')] }, [keyed]);
      const runId = await stage.start('wf');
      stage.created.length = 0;

      await stage.perform((runtime) => attendRun(runtime, { accountId: ACCOUNT, runId }));
      const first = await stage.enter(trigger(stage, runId, 'a'));
      await first.until('answer keyed');
      // Its lease ends, the attempt counts as lost, and another begins.
      stage.now += 60_000;
      await stage.perform((runtime) => attend(runtime, { accountId: ACCOUNT, runId, key: 'a' }, { kind: 'reconciler' }));
      stage.now += 60_000;
      const second = await stage.enter((runtime) => attend(runtime, { accountId: ACCOUNT, runId, key: 'a' }, { kind: 'reconciler' }));
      await second.until('answer keyed');
      for (const one of winner === 'the first' ? [first, second] : [second, first]) await one.finish();
      await stage.deliverAll();
      // Only the live attempt's result counts, whoever comes first.
      expect(stage.step(runId, 'a')).toMatchObject({ state: 'succeeded', attempt: 2 });
      expect(stage.step(runId, 'b')).toMatchObject({ state: 'succeeded' });
      expect(stage.run(runId).status).toBe('completed');
    },
  );

  test('R3 cancelled while a step runs: its late result is discarded, and nothing follows', async () => {
    const stage = new Stage({ wf: [act('a'), t('b')] }, [keyed]);
    const runId = await stage.start('wf');
    stage.created.length = 0;

    await stage.perform((runtime) => attendRun(runtime, { accountId: ACCOUNT, runId }));
    const slow = await stage.enter(trigger(stage, runId, 'a'));
    await slow.until('answer keyed');
    const command = commandDocument({ accountId: ACCOUNT, runId, by: 'bob', at: stage.now, kind: 'cancel', reason: 'enough' });
    await stage.write({ op: 'create', path: paths.command(ACCOUNT, runId, 'c1'), data: command });
    await stage.perform((runtime) => attendCommand(runtime, { accountId: ACCOUNT, runId }, 'c1'));
    await slow.finish();
    expect(stage.step(runId, 'a')).toMatchObject({ state: 'cancelled' });
    expect(stage.step(runId, 'b')).toBeUndefined();
    expect(stage.run(runId)).toMatchObject({ status: 'cancelled' });
  });

  test('R4 a commit whose answer got lost is found again: the claim goes on, it is not begun a second time', async () => {
    for (const fate of ['lose_reply', 'client_retries'] as const) {
      const stage = new Stage({ wf: [act('a', 'charge'), t('b')] }, [charge]);
      const runId = await stage.start('wf');
      stage.created.length = 0;

      await stage.perform((runtime) => attendRun(runtime, { accountId: ACCOUNT, runId }));
      const worker = await stage.enter(trigger(stage, runId, 'a'));
      await worker.until('commit');
      await worker.go(fate);
      await worker.finish();
      await stage.deliverAll();
      expect(stage.effects).toHaveLength(1);
      expect(stage.run(runId).status).toBe('completed');
    }
  });

  test('R6 a process that dies between the doorbell and the commit, or after it, leaves a step that wakes', async () => {
    for (const diesAt of ['task', 'commit'] as const) {
      const stage = new Stage({ wf: [{ id: 'w', type: 'wait', for: '1h' }, t('b')] });
      const runId = await stage.start('wf');
      stage.created.length = 0;

      await stage.perform((runtime) => attendRun(runtime, { accountId: ACCOUNT, runId }));
      const doomed = await stage.enter(trigger(stage, runId, 'w'));
      await doomed.until(diesAt);
      await doomed.go('die_after');
      for (let minute = 0; minute < 65; minute += 1) {
        stage.now += 60_000;
        await stage.reconcile();
      }
      expect(stage.run(runId).status).toBe('completed');
    }
  });

  test('R8 forty lanes that end at the same time join once, and none is lost', async () => {
    const items = Array.from({ length: 40 }, (_, i) => i);
    const stage = new Stage({
      wf: [
        {
          id: 'l',
          type: 'loop',
          concurrency: 40,
          over: { source: 'static', items },
          steps: [{ id: 'x', type: 'transform', value: '{{loop_item}}' }],
        },
      ],
    });
    const runId = await stage.start('wf');

    stage.created.length = 0;
    await stage.perform((runtime) => attendRun(runtime, { accountId: ACCOUNT, runId }));
    await stage.perform(trigger(stage, runId, 'l'));
    stage.created.length = 0;
    const lanes = [];
    for (const item of items) lanes.push(await stage.enter(trigger(stage, runId, `l[${item}].x`)));
    // All in step: each makes its next move before any makes the one after.
    while (lanes.some((lane) => lane.next !== undefined)) for (const lane of lanes) if (lane.next !== undefined) await lane.go();
    expect(stage.created.filter(({ path }) => path.endsWith('$join'))).toHaveLength(1);
    await stage.deliverAll();
    expect(JSON.parse(stage.run(runId).output?.json ?? 'null')).toEqual(items);
  });
});

describe('T: timers', () => {
  test.each(['event', 'timeout'])('T1 event and timeout at the same moment, the %s first: one outcome, recorded once', async (first) => {
    const stage = new Stage({ wf: [paid('w'), t('b')] });
    const runId = await stage.start('wf');
    await stage.deliverAll();
    stage.now += HOUR;
    await event(stage, 'e1');
    const meets = await stage.enter((runtime) => attendEvent(runtime, ACCOUNT, 'e1'));
    const times = await stage.enter(ring(runId, 'w'));
    const again = await stage.enter(ring(runId, 'w'));
    const order = first === 'event' ? [meets, times, again] : [times, again, meets];
    for (const one of order) await one.until('commit').catch(() => undefined);
    for (const one of order) await one.finish();
    await stage.deliverAll();
    expect(stage.step(runId, 'w')?.state).toBe('succeeded');
    expect(stage.run(runId).status).toBe('completed');
    const waits = [...stage.store.all()].filter(({ path }) => path.includes('/waits/'));
    expect(waits.map(({ data }) => data['state'])).toEqual(['closed']);
    const timedOut = stage.step(runId, 'w')?.output?.json?.includes('"timedOut":true') === true;
    expect(waits[0]?.data['eventId'] === undefined).toBe(timedOut);
  });

  test('T3 a sleep of 400 days goes in hops of a week, each under a name of its own', async () => {
    const stage = new Stage({ wf: [{ id: 'w', type: 'wait', for: '400d' }, t('b')] });
    const runId = await stage.start('wf');
    await stage.deliverAll();
    let rings = 0;
    for (let next = stage.rings.shift(); next !== undefined; next = stage.rings.shift()) {
      expect(next.at - stage.now).toBeLessThanOrEqual(7 * 86_400_000);
      stage.now = Math.max(stage.now, next.at);
      const { ring: heard } = next;
      await stage.perform((runtime) => attend(runtime, heard, { kind: 'doorbell', hop: heard.hop }));
      rings += 1;
    }
    await stage.deliverAll();
    expect(rings).toBe(Math.ceil(400 / 7));
    expect(stage.refused).toEqual([]);
    expect(stage.step(runId, 'w')?.endedAt).toBe((stage.step(runId, 'w')?.createdAt ?? 0) + 400 * 86_400_000);
    expect(stage.run(runId).status).toBe('completed');
  });

  test('T5 a ring that comes early does nothing but arm itself again, and the step wakes in time', async () => {
    const stage = new Stage({ wf: [{ id: 'w', type: 'wait', for: '1h' }, t('b')] });
    const runId = await stage.start('wf');
    await stage.deliverAll();
    stage.now += 5_000;
    for (let hop = 0; hop < 4; hop += 1) await stage.perform(ring(runId, 'w', hop));
    expect(stage.step(runId, 'w')?.state).toBe('waiting');
    expect(stage.refused).toEqual([]);
    expect(stage.rings.map((one) => one.ring.hop)).toEqual([0, 1, 2, 3, 4]);
    stage.now += HOUR;
    await stage.perform(ring(runId, 'w', 4));
    await stage.deliverAll();
    expect(stage.run(runId).status).toBe('completed');
  });

  test('T5 a ring that comes before the commit that it belongs to comes again, also when that commit never comes', async () => {
    const stage = new Stage({ wf: [{ id: 'w', type: 'wait', for: '1s' }, t('b')] });
    const runId = await stage.start('wf');
    stage.created.length = 0;

    await stage.perform((runtime) => attendRun(runtime, { accountId: ACCOUNT, runId }));
    const waiting = await stage.enter(trigger(stage, runId, 'w'));
    await waiting.until('commit');
    stage.now += 1_500;
    const early = stage.rings.shift();
    if (early === undefined) throw new Error('no doorbell was armed');
    waiting.die();
    await stage.perform((runtime) => attend(runtime, early.ring, { kind: 'doorbell', hop: early.ring.hop }));
    // The name of its own doorbell was used up by the one that died; the ring itself saw to another.
    expect(stage.refused).toHaveLength(1);
    expect(stage.step(runId, 'w')?.state).toBe('waiting');
    const next = stage.rings.at(-1);
    expect(next?.at).toBeGreaterThan(stage.now);
    stage.now = next?.at ?? 0;
    await stage.perform(ring(runId, 'w', next?.ring.hop));
    await stage.deliverAll();
    expect(stage.run(runId).status).toBe('completed');
  });

  test.each([-5_000, 5_000])('T6 an instance whose clock is %i ms off takes no live lease and wakes nothing early', async (skew) => {
    const stage = new Stage({ wf: [act('a'), { id: 'w', type: 'wait', for: '1h' }] }, [keyed]);
    const runId = await stage.start('wf');
    stage.created.length = 0;

    await stage.perform((runtime) => attendRun(runtime, { accountId: ACCOUNT, runId }), skew);
    const slow = await stage.enter(trigger(stage, runId, 'a'));
    await slow.until('answer keyed');
    stage.now += 34_000;
    await stage.perform((runtime) => attend(runtime, { accountId: ACCOUNT, runId, key: 'a' }, { kind: 'reconciler' }), skew);
    expect(stage.step(runId, 'a')?.state).toBe('running');
    await slow.finish();
    await stage.deliverAll();
    stage.now += HOUR - 1_000;
    await stage.perform(ring(runId, 'w'), skew);
    expect(stage.step(runId, 'w')?.state).toBe('waiting');
    stage.now += 1_000;
    await stage.perform(ring(runId, 'w', 1), skew);
    expect(stage.step(runId, 'w')?.state).toBe('succeeded');
  });
});
