import { z } from 'zod';
import { nextOccurrence } from '../engine/cron.ts';
import { canonicalJson, digest } from '../engine/json.ts';
import { paths } from '../model/paths.ts';
import { scheduleRecordSchema } from '../model/schedule.ts';
import type { ScheduleRecord } from '../model/schedule.ts';
import type { TriggerDeclaration } from '../model/trigger.ts';
import type { Runtime } from '../runner/runtime.ts';
import { dueField } from './due.ts';
import { StoreConflict } from './store.ts';
import type { Snapshot, Write } from './store.ts';

/** How often what is stored is compared with what the code declares, when the code is as before. */
const EVERY_MS = 15 * 60_000;

type Timing = Pick<ScheduleRecord, 'accountId' | 'scheduleId' | 'workflowId' | 'cron' | 'timeZone' | 'overlap'>;
type ScheduleTrigger = Extract<TriggerDeclaration, { readonly kind: 'schedule' }>;

/** Which declarations were last stored; part of the reconciler's document. */
export const declaredStateSchema = z.object({ declaredHash: z.string().default(''), declaredAt: z.number().default(0) });
export type DeclaredState = z.infer<typeof declaredStateSchema>;

/** The schedules that code workflows declare, one for each account. */
function declarations({ code }: Pick<Runtime, 'code'>): readonly Timing[] {
  const counts = new Map<string, number>();
  return code.triggers().flatMap(({ workflowId, trigger }) => {
    if (trigger.kind !== 'schedule') return [];
    const n = counts.get(workflowId) ?? 0;
    counts.set(workflowId, n + 1);
    return trigger.accounts.map((accountId) => timingOf(accountId, workflowId, n, trigger));
  });
}

function timingOf(accountId: string, workflowId: string, n: number, { cron, timeZone, overlap }: ScheduleTrigger): Timing {
  // The same for the same place in the code, so that a changed time keeps what is known of the last run.
  const scheduleId = `${workflowId.slice(0, 100)}-${digest(`${workflowId}/${n}`).slice(0, 8)}`;
  return { accountId, scheduleId, workflowId, cron, timeZone, overlap };
}

/** Each declared schedule has its document. Creating it twice is impossible, and writing it twice changes nothing. */
export async function storeDeclaredSchedules(runtime: Runtime, state: DeclaredState, now: number): Promise<DeclaredState> {
  const wanted = declarations(runtime);
  const hash = digest(canonicalJson(wanted)).slice(0, 16);
  if (state.declaredHash === hash && now - state.declaredAt < EVERY_MS) return state;
  const { docs } = await runtime.store.get(wanted.map(({ accountId, scheduleId }) => paths.schedule(accountId, scheduleId)));
  for (const [i, timing] of wanted.entries()) await put(runtime, timing, docs[i]);
  return { declaredHash: hash, declaredAt: now };
}

/** True when the schedule is not as the code declares it: then it is made so, or deleted, and nothing is started by the old one. */
export async function followDeclaration(runtime: Runtime, schedule: ScheduleRecord, snapshot: Snapshot): Promise<boolean> {
  const timing = declarationOf(runtime, schedule);
  if (timing !== undefined) return put(runtime, timing, snapshot);
  await write(runtime, { op: 'delete', path: snapshot.path, ifUpdateTime: snapshot.updateTime });
  return true;
}

/** What the code says about the schedule now. */
export function declarationOf(
  runtime: Runtime,
  { accountId, scheduleId }: Pick<ScheduleRecord, 'accountId' | 'scheduleId'>,
): Timing | undefined {
  return declarations(runtime).find((one) => one.accountId === accountId && one.scheduleId === scheduleId);
}

/** Whether there was something to change. */
async function put(runtime: Runtime, timing: Timing, snapshot: Snapshot | undefined): Promise<boolean> {
  const before = snapshot === undefined ? undefined : scheduleRecordSchema.safeParse(snapshot.data).data;
  // Whoever attends it says what is wrong with it.
  if (snapshot !== undefined && before === undefined) return false;
  const { cron, timeZone, overlap, scheduleId } = timing;
  if (before?.cron === cron && before.timeZone === timeZone && before.overlap === overlap) return false;
  const now = runtime.clock.now();
  const nextAt = nextOccurrence(cron, timeZone, now);
  const changed = { cron, timeZone, overlap, nextAt, updatedAt: now, updatedBy: 'code' };
  if (snapshot !== undefined) {
    const due = before?.active === false ? {} : { due: dueField(scheduleId, nextAt) };
    await write(runtime, { op: 'update', path: snapshot.path, data: { ...changed, ...due }, ifUpdateTime: snapshot.updateTime });
    return true;
  }
  const record: ScheduleRecord = {
    v: 1,
    ...timing,
    ...changed,
    input: 'null',
    jitterMs: 0,
    catchUp: 'latest',
    active: true,
    declared: true,
    skipped: 0,
    due: dueField(scheduleId, nextAt),
  };
  await write(runtime, { op: 'create', path: paths.schedule(timing.accountId, scheduleId), data: record });
  return true;
}

/** Somebody was quicker: the next look sees what they made of it. */
async function write(runtime: Runtime, one: Write): Promise<void> {
  try {
    await runtime.store.commit([one]);
  } catch (error) {
    if (!(error instanceof StoreConflict)) throw error;
  }
}
