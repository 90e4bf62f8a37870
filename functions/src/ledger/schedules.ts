import { z } from 'zod';
import { checkSchedule, nextOccurrence, occurrencesBetween } from '../engine/cron.ts';
import { parseDuration } from '../engine/duration.ts';
import { canonicalJson, digest, parseJson } from '../engine/json.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import { idPattern, paths } from '../model/paths.ts';
import { runRecordSchema, terminalRunStatuses } from '../model/run.ts';
import { scheduleRecordSchema } from '../model/schedule.ts';
import type { ScheduleRecord } from '../model/schedule.ts';
import { startRun } from '../runner/runs.ts';
import type { Runtime } from '../runner/runtime.ts';
import { declarationOf, followDeclaration } from './declared-schedules.ts';
import { dueField } from './due.ts';
import { changeAudited } from './history.ts';
import type { Actor } from './history.ts';
import { remove, StoreConflict } from './store.ts';

/** Occurrences started in one go; the rest follows when the schedule is looked at again. */
const AT_ONCE = 50;
const LOOK_AGAIN_MS = 60_000;
/** An occurrence that is later than this was missed, and the catch-up policy says what becomes of it. */
const LATE_MS = 10 * 60_000;
const JITTER_MAX_MS = 24 * 60 * 60_000;

export const putScheduleInput = z.strictObject({
  scheduleId: z.string().regex(idPattern),
  workflowId: z.string().min(1).max(128),
  input: z.json().default(null),
  cron: z.string().min(1).max(200),
  timeZone: z.string().max(64).default('UTC'),
  jitter: z.union([z.number(), z.string()]).default(0),
  overlap: z.enum(['skip', 'queue', 'parallel']).default('skip'),
  catchUp: z.enum(['latest', 'all', 'none']).default('latest'),
  active: z.boolean().default(true),
});

/** Adds a schedule or changes it. Its next occurrence is the first one from now on. One that code declares can be paused and eased. */
export async function putSchedule(runtime: Runtime, actor: Actor, given: z.infer<typeof putScheduleInput>): Promise<ScheduleRecord> {
  const { scheduleId, workflowId, cron, timeZone, overlap, catchUp, active } = given;
  const [problem] = checkSchedule(cron, timeZone, runtime.clock.now());
  if (problem !== undefined) throw new KilnError(problem.code, problem.message);
  await runtime.definitions.latest(actor.accountId, workflowId);
  const jitterMs = parseDuration(given.jitter, 'jitter');
  if (jitterMs > JITTER_MAX_MS) throw new KilnError('schedule.invalid', 'a jitter is at most a day');
  const path = paths.schedule(actor.accountId, scheduleId);
  const text = `${actor.uid} set the schedule "${scheduleId}": ${workflowId} at ${cron} (${timeZone})${active ? '' : ', paused'}`;
  return changeAudited(runtime, actor, { kind: 'schedule_set', text, data: { scheduleId } }, async (tx) => {
    const { docs } = await tx.get([path]);
    const before = docs[0] === undefined ? undefined : scheduleRecordSchema.parse(docs[0].data);
    const same = before?.workflowId === workflowId && before.cron === cron && before.timeZone === timeZone && before.overlap === overlap;
    if (before?.declared === true && !same) throw ofTheCode(scheduleId);
    const now = runtime.clock.now();
    const nextAt = nextOccurrence(cron, timeZone, now);
    const record: ScheduleRecord = {
      v: 1,
      accountId: actor.accountId,
      scheduleId,
      workflowId,
      input: canonicalJson(given.input),
      cron,
      timeZone,
      jitterMs,
      overlap,
      catchUp,
      active,
      ...(before?.declared === true ? { declared: true as const } : {}),
      nextAt,
      ...(before?.lastRunId === undefined ? {} : { lastRunId: before.lastRunId }),
      ...(before?.lastAt === undefined ? {} : { lastAt: before.lastAt }),
      skipped: before?.skipped ?? 0,
      updatedAt: now,
      updatedBy: actor.uid,
    };
    tx.write({ op: 'set', path, data: active ? { ...record, due: dueOf(record, nextAt) } : record });
    return record;
  });
}

export async function deleteSchedule(runtime: Runtime, actor: Actor, scheduleId: string): Promise<void> {
  const path = paths.schedule(actor.accountId, scheduleId);
  const { docs } = await runtime.store.get([path]);
  const declared = docs[0] !== undefined && scheduleRecordSchema.parse(docs[0].data).declared === true;
  if (declared && declarationOf(runtime, { accountId: actor.accountId, scheduleId }) !== undefined) throw ofTheCode(scheduleId);
  const text = `${actor.uid} deleted the schedule "${scheduleId}"`;
  await changeAudited(runtime, actor, { kind: 'schedule_deleted', text, data: { scheduleId } }, (tx) => tx.write({ op: 'delete', path }));
}

function ofTheCode(scheduleId: string): KilnError {
  return new KilnError('request.invalid', `the code declares the schedule "${scheduleId}": change it there, or pause it here`);
}

/**
 * Starts what is due. An occurrence is the start key of its run, so however often it is attended, it starts one run. The schedule
 * moves on last: when the process dies before, the same occurrences are attended again and are found started.
 */
export async function attendSchedule(runtime: Runtime, accountId: string, scheduleId: string): Promise<void> {
  if (await runtime.control.halted()) return;
  const path = paths.schedule(accountId, scheduleId);
  const { docs } = await runtime.store.get([path]);
  if (docs[0] === undefined) return;
  const schedule = scheduleRecordSchema.parse(docs[0].data);
  if (schedule.declared === true && (await followDeclaration(runtime, schedule, docs[0]))) return;
  const now = runtime.clock.now();
  if (!schedule.active || now < startTime(schedule, schedule.nextAt)) return;
  const progress = await startDue(runtime, schedule, now);
  const data = {
    nextAt: progress.nextAt,
    due: dueField(schedule.scheduleId, progress.lookAt),
    skipped: schedule.skipped + progress.skipped,
    error: progress.error ?? remove,
    ...(progress.lastRunId === undefined ? {} : { lastRunId: progress.lastRunId, lastAt: progress.lastAt }),
  };
  try {
    await runtime.store.commit([{ op: 'update', path, data, ifUpdateTime: docs[0].updateTime }]);
  } catch (error) {
    // Somebody changed it, or attended it at the same time.
    if (!(error instanceof StoreConflict)) throw error;
  }
}

interface Progress {
  readonly nextAt: number;
  /** When the schedule is looked at again. */
  readonly lookAt: number;
  readonly skipped: number;
  readonly lastRunId?: string;
  readonly lastAt?: number;
  readonly error?: string;
}

async function startDue(runtime: Runtime, schedule: ScheduleRecord, now: number): Promise<Progress> {
  const { cron, timeZone, nextAt } = schedule;
  const occurrences = [nextAt, ...occurrencesBetween(cron, timeZone, nextAt, now, AT_ONCE)].filter((at) => startTime(schedule, at) <= now);
  const chosen = choose(schedule, occurrences, now);
  let { lastRunId } = schedule;
  let started: { lastRunId: string; lastAt: number } | undefined;
  let skipped = occurrences.length - chosen.length;
  for (const at of chosen) {
    if (schedule.overlap !== 'parallel' && (await isRunning(runtime, schedule.accountId, lastRunId))) {
      // The rest waits for its turn.
      if (schedule.overlap === 'queue') return { nextAt: at, lookAt: now + LOOK_AGAIN_MS, skipped, ...started };
      skipped += 1;
      continue;
    }
    try {
      const run = await start(runtime, schedule, at);
      lastRunId = run.runId;
      started = { lastRunId: run.runId, lastAt: at };
    } catch (error) {
      if (!(error instanceof KilnError)) throw error;
      const next = nextOccurrence(cron, timeZone, occurrences.at(-1) ?? at);
      return { nextAt: next, lookAt: startTime(schedule, next), skipped: skipped + 1, ...started, error: toErrorRecord(error).message };
    }
  }
  const next = nextOccurrence(cron, timeZone, occurrences.at(-1) ?? nextAt);
  return { nextAt: next, lookAt: startTime(schedule, next), skipped, ...started };
}

/** Which of the occurrences that are due are started. The newest is not late when it has just come. */
function choose({ catchUp, overlap }: ScheduleRecord, occurrences: readonly number[], now: number): readonly number[] {
  // What waits for its turn was not missed.
  if (overlap === 'queue') return occurrences;
  switch (catchUp) {
    case 'all':
      return occurrences;
    case 'latest':
      return occurrences.slice(-1);
    case 'none':
      return occurrences.slice(-1).filter((at) => now - at <= LATE_MS);
  }
}

function start(
  runtime: Runtime,
  { accountId, scheduleId, workflowId, input, timeZone, declared }: ScheduleRecord,
  at: number,
): Promise<{ readonly runId: string }> {
  return startRun(runtime, {
    accountId,
    workflowId,
    input: declared === true ? { scheduledFor: new Date(at).toISOString(), timeZone } : parseJson(input),
    startedBy: { kind: 'schedule', id: scheduleId },
    startKey: `schedule:${scheduleId}:${at}`,
    policy: { restartFailed: false },
  });
}

async function isRunning(runtime: Runtime, accountId: string, runId: string | undefined): Promise<boolean> {
  if (runId === undefined) return false;
  const { docs } = await runtime.store.get([paths.run(accountId, runId)]);
  return docs[0] !== undefined && !terminalRunStatuses.has(runRecordSchema.parse(docs[0].data).status);
}

/** The jitter of an occurrence is drawn from its name: whoever looks, it is the same. */
function startTime({ accountId, scheduleId, jitterMs }: ScheduleRecord, at: number): number {
  if (jitterMs === 0) return at;
  const share = Number.parseInt(digest(`${accountId}/${scheduleId}/${at}`).slice(0, 8), 16) / 0x1_0000_0000;
  return at + Math.floor(share * jitterMs);
}

function dueOf(schedule: ScheduleRecord, at: number): string {
  return dueField(schedule.scheduleId, startTime(schedule, at));
}
