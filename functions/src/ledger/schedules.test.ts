import { describe, expect, test } from 'vitest';
import { paths } from '../model/paths.ts';
import { scheduleRecordSchema } from '../model/schedule.ts';
import type { ScheduleRecord } from '../model/schedule.ts';
import { createTestKit } from '../testing/test-kit.ts';
import type { TestKit } from '../testing/test-kit.ts';
import { attendSchedule, deleteSchedule, putSchedule, putScheduleInput } from './schedules.ts';

const actor = { accountId: 'test', uid: 'ada' };

function kit(
  definitions: Record<string, object> = { wf: { steps: [{ id: 'x', type: 'transform', value: '{{workflow_input}}' }] } },
): TestKit {
  return createTestKit({ definitions, now: '2026-03-01T00:00:30Z' });
}

function put(k: TestKit, fields: object): Promise<ScheduleRecord> {
  return putSchedule(
    k.runtime,
    actor,
    putScheduleInput.parse({ scheduleId: 's', workflowId: 'wf', cron: '0 * * * *', input: 'hello', ...fields }),
  );
}

function schedule(k: TestKit): ScheduleRecord {
  return scheduleRecordSchema.parse(k.document(paths.schedule('test', 's')));
}

function starts(k: TestKit): number[] {
  const runs = [...k.host.store.all()].filter((doc) => /^accounts\/test\/runs\/[^/]+$/.test(doc.path));
  return runs.map((doc) => Number(doc.data['createdAt']));
}

/** The reconciler, each minute. */
async function pass(k: TestKit, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute += 1) {
    await k.advance('1m');
    await k.reconcile();
  }
}

describe('a schedule', () => {
  test('starts its workflow at each occurrence, once, with its input', async () => {
    const k = kit();
    await put(k, {});
    await pass(k, 125);
    expect(starts(k)).toHaveLength(2);
    expect(schedule(k)).toMatchObject({ nextAt: Date.parse('2026-03-01T03:00:00Z'), skipped: 0 });
    const [run] = [...k.host.store.all()].filter((doc) => /^accounts\/test\/runs\/[^/]+$/.test(doc.path));
    expect(run?.data).toMatchObject({ startedBy: { kind: 'schedule', id: 's' }, status: 'completed', output: { json: '"hello"' } });
  });

  test('however often an occurrence is attended, also when nobody noted that it was started, it is one run', async () => {
    const k = kit();
    await put(k, {});
    await k.advance('1h');
    const before = schedule(k);
    await Promise.all([attendSchedule(k.runtime, 'test', 's'), attendSchedule(k.runtime, 'test', 's')]);
    // The process died before the schedule moved on.
    await k.host.store.commit([{ op: 'set', path: paths.schedule('test', 's'), data: before }]);
    await attendSchedule(k.runtime, 'test', 's');
    expect(starts(k)).toHaveLength(1);
  });

  test('T8 in the weeks in which clocks change each calendar day has one run', async () => {
    for (const timeZone of ['Europe/Berlin', 'America/Santiago', 'Australia/Lord_Howe']) {
      const k = kit();
      await put(k, { cron: '30 2 * * *', timeZone });
      const days: string[] = [];
      const day = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' });
      for (let n = 0; n < 60; n += 1) {
        const { nextAt } = schedule(k);
        days.push(day.format(nextAt));
        await k.advance(nextAt - k.now);
        await attendSchedule(k.runtime, 'test', 's');
      }
      expect(new Set(days).size).toBe(60);
      expect(starts(k)).toHaveLength(60);
    }
  });

  test.each([
    ['skip', 1, 2],
    ['queue', 1, 0],
    ['parallel', 3, 0],
  ])('overlap %s: %i running after three occurrences, %i left out', async (overlap, running, skipped) => {
    const k = kit({ wf: { steps: [{ id: 'w', type: 'wait', for: '10h' }] } });
    await put(k, { overlap });
    await pass(k, 185);
    expect(starts(k)).toHaveLength(running);
    expect(schedule(k).skipped).toBe(skipped);
    await pass(k, 10 * 60);
    if (overlap === 'queue') expect(starts(k)).toHaveLength(2);
  });

  test.each([
    ['latest', 1],
    ['all', 5],
    ['none', 0],
  ])('catch-up %s: %i runs after five occurrences that nobody could start', async (catchUp, runs) => {
    const k = kit();
    await put(k, { catchUp, overlap: 'parallel' });
    await k.advance('5h');
    await k.advance('30m');
    await k.reconcile();
    expect(starts(k)).toHaveLength(runs);
    expect(schedule(k).skipped).toBe(5 - runs);
  });

  test('a jitter puts each start off by its own time, the same whoever looks', async () => {
    const k = kit();
    await put(k, { jitter: '30m' });
    await pass(k, 59);
    expect(starts(k)).toEqual([]);
    await pass(k, 31);
    const [first] = starts(k);
    expect(first).toBeGreaterThan(Date.parse('2026-03-01T01:00:00Z'));
    expect(first).toBeLessThanOrEqual(Date.parse('2026-03-01T01:31:00Z'));
  });

  test('that is switched off, deleted or faulty starts nothing', async () => {
    const k = kit();
    await put(k, { active: false });
    await pass(k, 61);
    await put(k, {});
    await deleteSchedule(k.runtime, actor, 's');
    await pass(k, 61);
    expect(starts(k)).toEqual([]);
    await expect(put(k, { cron: '0 0 30 2 *' })).rejects.toMatchObject({ code: 'schedule.invalid' });
    await expect(put(k, { timeZone: 'Mars/Base' })).rejects.toMatchObject({ code: 'schedule.invalid' });
    await expect(put(k, { workflowId: 'none' })).rejects.toMatchObject({ code: 'definition.not_found' });
  });
});
