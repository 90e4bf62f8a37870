import { describe, expect, test } from 'vitest';
import { attendCommand } from '../../functions/src/ledger/commands.ts';
import { attendOutbox } from '../../functions/src/ledger/outbox.ts';
import { heldStep } from '../../functions/src/ledger/steps.ts';
import { commandDocument } from '../../functions/src/model/client-documents.ts';
import type { CommandKind } from '../../functions/src/model/command.ts';
import { KilnError } from '../../functions/src/model/errors.ts';
import { paths } from '../../functions/src/model/paths.ts';
import { attend } from '../../functions/src/runner/attend.ts';
import { attendRun } from '../../functions/src/runner/runs.ts';
import type { Action } from '../../functions/src/steps/action-registry.ts';
import { ACCOUNT, Stage } from './stage.ts';

/** What the simulator has found, each as the shortest way to it. */

const anything = { safeParse: (data: unknown) => ({ success: true, data }) } as unknown as Action['input'];
const base = { input: anything, output: anything } as const;
const t = (id: string): object => ({ id, type: 'transform', value: id });
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

async function order(stage: Stage, runId: string, kind: CommandKind, id: string, stepKey?: string): Promise<void> {
  const about = stepKey === undefined ? {} : { stepKey };
  const data = commandDocument({ accountId: ACCOUNT, runId, by: 'bob', at: stage.now, kind, reason: 'test', ...about });
  await stage.write({ op: 'create', path: paths.command(ACCOUNT, runId, id), data });
}

const commandOf = (stage: Stage, runId: string, id: string) => stage.store.peek(paths.command(ACCOUNT, runId, id))?.data;

describe('found by the simulator and by fuzzing', () => {
  test('a cancel whose answer got lost does not say that the run had ended already', async () => {
    for (const fate of ['client_retries', 'lose_reply', 'die_after'] as const) {
      const stage = new Stage({ wf: [{ id: 'w', type: 'wait', for: '1h' }] });
      const runId = await stage.start('wf');
      await stage.deliverAll();
      await order(stage, runId, 'cancel', 'c1');
      const carried = await stage.enter((runtime) => attendCommand(runtime, { accountId: ACCOUNT, runId }, 'c1'));
      await carried.until('tx commit');
      await carried.go(fate);
      await carried.finish();
      await stage.perform((runtime) => attendCommand(runtime, { accountId: ACCOUNT, runId }, 'c1'));
      expect(stage.run(runId).status).toBe('cancelled');
      expect(commandOf(stage, runId, 'c1')).toMatchObject({ status: 'done' });
    }
  });

  test('a run that is paused before it has begun begins when it is resumed', async () => {
    const stage = new Stage({ wf: [t('a')] });
    const runId = await stage.start('wf');
    stage.created.length = 0;
    for (const kind of ['pause', 'resume'] as const) {
      await order(stage, runId, kind, kind);
      await stage.perform((runtime) => attendCommand(runtime, { accountId: ACCOUNT, runId }, kind));
      if (kind === 'pause') expect(stage.run(runId)).toMatchObject({ status: 'paused' });
    }
    stage.created.splice(0, 2);
    await stage.deliverAll();
    expect(stage.run(runId).status).toBe('completed');
  });

  test('an attempt that fails while its run is paused is not due again until the run is resumed', async () => {
    const busy: Action = {
      ...base,
      name: 'busy',
      idempotent: true,
      run: () => {
        throw new KilnError('http.server_error', '503');
      },
    };
    const stage = new Stage({ wf: [{ id: 'a', type: 'action', action: 'busy' }] }, [busy]);
    const runId = await stage.start('wf');
    stage.created.length = 0;
    await stage.perform((runtime) => attendRun(runtime, { accountId: ACCOUNT, runId }));
    const working = await stage.enter((runtime) => attend(runtime, { accountId: ACCOUNT, runId, key: 'a' }, { kind: 'trigger' }));
    await working.until('answer');
    await order(stage, runId, 'pause', 'p');
    await stage.perform((runtime) => attendCommand(runtime, { accountId: ACCOUNT, runId }, 'p'));
    await working.finish();
    expect(stage.step(runId, 'a')).toMatchObject({ state: 'waiting', wait: { kind: 'retry' } });
    expect(stage.step(runId, 'a')?.due).toBeUndefined();
    await order(stage, runId, 'resume', 'r');
    await stage.perform((runtime) => attendCommand(runtime, { accountId: ACCOUNT, runId }, 'r'));
    expect(stage.step(runId, 'a')?.due).toBeDefined();
  });

  test('an early join whose trigger comes twice does not cancel the path that follows it', async () => {
    const branches = { bad: [{ id: 'f', type: 'fail', code: 'alpha' }], slow: [{ id: 'w', type: 'wait', for: '1h' }] };
    const onException = { alpha: [{ id: 'plan', type: 'wait', for: '1h' }] };
    const stage = new Stage({ wf: [{ id: 'p', type: 'parallel', policy: 'all', branches, onException }] });
    const runId = await stage.start('wf');
    await stage.perform((runtime) => attendRun(runtime, { accountId: ACCOUNT, runId }));
    stage.created.length = 0;
    const door = (key: string) => stage.perform((runtime) => attend(runtime, { accountId: ACCOUNT, runId, key }, { kind: 'reconciler' }));
    await door('p');
    await door('p.slow.w');
    await door('p.bad.f');
    const snapshot = stage.store.peek(paths.step(ACCOUNT, runId, 'p.$join'));
    if (snapshot === undefined) throw new Error('the join did not fire');
    const trigger = () =>
      stage.perform((runtime) =>
        attend(runtime, { accountId: ACCOUNT, runId, key: 'p.$join' }, { kind: 'trigger', held: heldStep(snapshot) }),
      );
    await trigger();
    await door('p.onException.plan');
    expect(stage.step(runId, 'p.slow.w')?.state).toBe('cancelled');
    await trigger();
    expect(stage.step(runId, 'p.onException.plan')?.state).toBe('waiting');
    stage.now += HOUR;
    await door('p.onException.plan');
    expect(stage.run(runId).status).toBe('completed');
  });

  test('a branch that ends in its exception path has that path’s result', async () => {
    const branches = { b: [{ id: 'f', type: 'fail', code: 'alpha', onException: { alpha: [t('first'), t('plan')] } }] };
    const stage = new Stage({ wf: [{ id: 'p', type: 'parallel', branches }] });
    const runId = await stage.start('wf');
    await stage.deliverAll();
    expect(JSON.parse(stage.run(runId).output?.json ?? 'null')).toEqual({ b: { status: 'fulfilled', value: 'plan' } });
  });

  test('a claim that the client library sent twice is still ours', async () => {
    const charge: Action = { ...base, name: 'charge', run: () => 'done' };
    const stage = new Stage({ wf: [{ id: 'a', type: 'action', action: 'charge' }] }, [charge]);
    const runId = await stage.start('wf');
    stage.created.length = 0;
    await stage.perform((runtime) => attendRun(runtime, { accountId: ACCOUNT, runId }));
    const working = await stage.enter((runtime) => attend(runtime, { accountId: ACCOUNT, runId, key: 'a' }, { kind: 'trigger' }));
    await working.until('commit');
    await working.go('client_retries');
    await working.finish();
    expect(stage.step(runId, 'a')).toMatchObject({ state: 'succeeded', attempt: 1 });
    expect(stage.effects).toHaveLength(1);
  });

  test('a wait that is entered anew after a long pause has a ring, although the first one has been used up', async () => {
    const stage = new Stage({ wf: [{ id: 'w', type: 'wait', event: { name: 'paid' }, timeout: '300d' }] });
    const runId = await stage.start('wf');
    stage.created.length = 0;
    await stage.perform((runtime) => attendRun(runtime, { accountId: ACCOUNT, runId }));
    const waiting = await stage.enter((runtime) => attend(runtime, { accountId: ACCOUNT, runId, key: 'w' }, { kind: 'trigger' }));
    await waiting.until('commit');
    await order(stage, runId, 'pause', 'p');
    await stage.perform((runtime) => attendCommand(runtime, { accountId: ACCOUNT, runId }, 'p'));
    await waiting.finish();
    expect(stage.step(runId, 'w')).toMatchObject({ state: 'ready', gate: 'paused' });
    stage.now += 7 * 24 * HOUR + MINUTE;
    await order(stage, runId, 'resume', 'r');
    await stage.perform((runtime) => attendCommand(runtime, { accountId: ACCOUNT, runId }, 'r'));
    expect(stage.step(runId, 'w')).toMatchObject({ state: 'waiting' });
    expect(stage.rings.filter(({ at }) => at > stage.now)).toHaveLength(1);
  });

  test('a run whose step is filled in as a whole begins, and says what is wrong when its time has come', async () => {
    const stage = new Stage({ wf: [{ id: 'w', type: 'wait', event: '{{workflow_input.event}}' }] });
    const right = await stage.start('wf', { event: { name: 'paid' } });
    await stage.deliverAll();
    expect(stage.step(right, 'w')).toMatchObject({ state: 'waiting', wait: { kind: 'event', event: 'paid' } });
    const wrong = await stage.start('wf', { event: 'paid' });
    await stage.deliverAll();
    expect(stage.run(wrong)).toMatchObject({ status: 'failed', error: { code: 'request.invalid' } });
  });

  /** A step that failed once and is tried again, while somebody has asked for a retry that nobody has looked at yet. */
  async function retried(fails: (attempt: number) => KilnError, idempotent: boolean): Promise<{ stage: Stage; runId: string }> {
    let attempts = 0;
    const failing: Action = {
      ...base,
      name: 'failing',
      idempotent,
      run: () => {
        throw fails((attempts += 1));
      },
    };
    const stage = new Stage({ wf: [{ id: 'a', type: 'action', action: 'failing', retry: { maxAttempts: 2 } }] }, [failing]);
    const runId = await stage.start('wf');
    await stage.deliverAll();
    expect(stage.step(runId, 'a')).toMatchObject({ state: 'waiting', wait: { kind: 'retry' }, attempt: 1 });
    await order(stage, runId, 'retry', 'c', 'a');
    stage.now += HOUR;
    return { stage, runId };
  }
  const attendStep = (stage: Stage, runId: string) =>
    stage.perform((runtime) => attend(runtime, { accountId: ACCOUNT, runId, key: 'a' }, { kind: 'reconciler' }));

  test('a retry that its run’s failure has overtaken changes nothing, and says so', async () => {
    const { stage, runId } = await retried(() => new KilnError('http.server_error', '503'), true);
    // Looked at while the run was still live, carried out when it has failed.
    const ordered = await stage.enter((runtime) => attendCommand(runtime, { accountId: ACCOUNT, runId }, 'c'));
    for (let n = 0; n < 2; n += 1) {
      await ordered.until('get');
      await ordered.go();
    }
    await attendStep(stage, runId);
    expect(stage.run(runId).status).toBe('failed');
    const failed = stage.step(runId, 'a');
    await ordered.finish();
    expect(stage.step(runId, 'a')).toEqual(failed);
    expect(commandOf(stage, runId, 'c')).toMatchObject({
      status: 'refused',
      result: expect.stringContaining('failed meanwhile') as string,
    });
    await order(stage, runId, 'retry', 'again', 'a');
    await stage.perform((runtime) => attendCommand(runtime, { accountId: ACCOUNT, runId }, 'again'));
    expect(commandOf(stage, runId, 'again')).toMatchObject({ status: 'done', result: expect.stringContaining('goes on from') as string });
  });

  test('a retry that was asked for before the outcome became unknown does not repeat the effect', async () => {
    const answers = ['http.server_error', 'http.interrupted'] as const;
    const { stage, runId } = await retried((attempt) => new KilnError(answers[attempt - 1] ?? 'internal', 'no answer'), false);
    await attendStep(stage, runId);
    expect(stage.step(runId, 'a')).toMatchObject({ state: 'unresolved', attempt: 2 });
    await stage.perform((runtime) => attendCommand(runtime, { accountId: ACCOUNT, runId }, 'c'));
    expect(stage.step(runId, 'a')).toMatchObject({ state: 'unresolved', attempt: 2 });
    expect(commandOf(stage, runId, 'c')).toMatchObject({ status: 'refused' });
    await order(stage, runId, 'retry', 'knowing', 'a');
    await stage.perform((runtime) => attendCommand(runtime, { accountId: ACCOUNT, runId }, 'knowing'));
    expect(commandOf(stage, runId, 'knowing')).toMatchObject({ status: 'done' });
    expect(stage.effects).toHaveLength(3);
  });

  test('a lost attempt whose ring came before its commit is rung again, even at the same moment', async () => {
    const slow: Action = { ...base, name: 'slow', idempotent: true, run: () => 'done' };
    const stage = new Stage({ wf: [{ id: 'a', type: 'action', action: 'slow' }] }, [slow]);
    const runId = await stage.start('wf');
    stage.created.length = 0;
    await stage.perform((runtime) => attendRun(runtime, { accountId: ACCOUNT, runId }));
    const ref = { accountId: ACCOUNT, runId, key: 'a' };
    const dying = await stage.enter((runtime) => attend(runtime, ref, { kind: 'trigger' }));
    await dying.until('commit');
    await dying.go('die_after');
    stage.now += HOUR;
    const finder = await stage.enter((runtime) => attend(runtime, ref, { kind: 'reconciler' }));
    await finder.until('commit');
    finder.die();
    const ring = stage.rings.at(-1)?.ring;
    if (ring === undefined) throw new Error('nobody armed a ring');
    await stage.perform((runtime) => attend(runtime, ref, { kind: 'doorbell', hop: ring.hop }));
    expect(stage.step(runId, 'a')).toMatchObject({ state: 'waiting', wait: { kind: 'retry' } });
    expect(stage.refused).toEqual([]);
    expect(stage.rings).toHaveLength(2);
  });

  test('a hiccup of the database does not end a delivery for good', async () => {
    const stage = new Stage({});
    const data = {
      v: 1,
      accountId: ACCOUNT,
      id: 'm1',
      kind: 'mail',
      to: 'ann@example.com',
      body: 'x',
      state: 'queued',
      attempt: 0,
      createdAt: stage.now,
    };
    await stage.write({ op: 'create', path: paths.outbox(ACCOUNT, 'm1'), data });
    const hiccup = () => Promise.reject(Object.assign(new Error('UNAVAILABLE'), { code: 14 }));
    await stage.perform((runtime) => attendOutbox({ ...runtime, deliveries: { mail: hiccup } }, ACCOUNT, 'm1'));
    expect(stage.store.peek(paths.outbox(ACCOUNT, 'm1'))?.data).toMatchObject({ state: 'queued', attempt: 1 });
    stage.now += HOUR;
    await stage.perform((runtime) => attendOutbox({ ...runtime, deliveries: { mail: () => Promise.resolve() } }, ACCOUNT, 'm1'));
    expect(stage.store.peek(paths.outbox(ACCOUNT, 'm1'))?.data).toMatchObject({ state: 'sent', attempt: 2 });
  });
});
