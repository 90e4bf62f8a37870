import { dueField } from '../ledger/due.ts';
import { loadPayload } from '../ledger/payloads.ts';
import { ATTEND_WITHIN_MS, heldStep } from '../ledger/steps.ts';
import type { Held } from '../ledger/steps.ts';
import { StoreConflict } from '../ledger/store.ts';
import type { Outcome } from '../ledger/transitions.ts';
import { KilnError } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import type { StepRecord } from '../model/step.ts';
import type { Runtime } from '../runner/runtime.ts';
import { decodeBaton } from './baton.ts';
import { heldOutcomeWrites } from './divergence.ts';
import type { Ready, Replayer } from './replayer.ts';
import type { Reader } from './run-reader.ts';
import type { EndedStep } from './turn.ts';

/** Up to so many live steps, each outcome goes to the code by itself; with more, they would wait in line for `journal/head`. */
const DIRECT_MAX = 8;
/** Outcomes handed to the code in one transaction. */
const BATCH = 20;
const RETRY_WITHIN_MS = 3_000;

/**
 * Ends a step and lets the code go on, in one commit. Where many steps live at once, the outcome is first kept on the step itself,
 * which takes no turn: so a result is safe long before its lease is over, and one transaction takes many of them.
 */
export async function commitOutcome(replayer: Replayer, runtime: Runtime, ended: EndedStep, ready?: Ready): Promise<void> {
  const { held, outcome, also = [] } = ended;
  if (decodeBaton(held.record).at === 'here') {
    await runtime.store.commit(await replayer.outcomeWrites(runtime, [ended], undefined, ready));
    return;
  }
  if (ready === undefined || ready.opened.live.length <= DIRECT_MAX) {
    await runtime.store.transaction(async (tx) => {
      for (const write of await replayer.outcomeWrites(runtime, [ended], tx)) tx.write(write);
    });
    return;
  }
  const now = runtime.clock.now();
  const waiting = { state: 'waiting', wait: { kind: 'turn' }, wakeAt: now, due: dueField(held.record.runId, now + ATTEND_WITHIN_MS) };
  await runtime.store.commit([...heldOutcomeWrites(runtime, held, outcome, waiting), ...also]);
  await takeTurns(replayer, runtime, held);
}

/** Hands the outcomes that wait for their turn to the code, whoever's they are. */
export async function takeTurns(replayer: Replayer, runtime: Runtime, held: Held): Promise<void> {
  const { record } = held;
  if (decodeBaton(record).at === 'here') {
    await commitOutcome(replayer, runtime, { held, outcome: await keptOutcome(runtime.store, held) });
    return;
  }
  // An instance may perform many steps of a run at once: one sweep serves them all.
  return replayer.sweeps.run(paths.run(record.accountId, record.runId), () => sweep(replayer, runtime, record));
}

async function sweep(replayer: Replayer, runtime: Runtime, record: StepRecord): Promise<void> {
  try {
    for (let more = true; more;) {
      const found = await runtime.store.query({
        from: paths.steps(record.accountId, record.runId),
        where: [['turn', '==', true]],
        limit: BATCH,
      });
      if (found.docs.length === 0) return;
      await runtime.store.transaction(async (tx) => {
        const { docs } = await tx.get(found.docs.map((doc) => doc.path));
        const kept = docs.flatMap((doc) => (doc === undefined ? [] : [heldStep(doc)])).filter(waitsForTurn);
        const ended: EndedStep[] = [];
        for (const step of kept.sort((a, b) => endOfAttempt(a) - endOfAttempt(b))) {
          ended.push({ held: step, outcome: await keptOutcome(tx, step) });
        }
        for (const write of await replayer.outcomeWrites(runtime, ended, tx)) tx.write(write);
      });
      more = found.docs.length === BATCH;
    }
  } catch (error) {
    if (!(error instanceof StoreConflict)) throw error;
    // Others are at it, and may have taken this one along. A ring later makes sure.
    await runtime.doorbells.arm(record, runtime.clock.now() + 1_000 + Math.floor(runtime.random() * RETRY_WITHIN_MS), 0);
  }
}

function waitsForTurn({ record }: Held): boolean {
  return record.turn === true && (record.state === 'waiting' || record.state === 'ready');
}

function endOfAttempt({ record }: Held): number {
  return record.attempts.at(-1)?.endedAt ?? record.createdAt;
}

async function keptOutcome(reader: Reader, { record }: Held): Promise<Outcome> {
  const output = record.output === undefined ? undefined : await loadPayload(reader, record, record.output);
  if (record.turnError !== undefined) return { kind: 'failed', error: record.turnError, ...(output === undefined ? {} : { output }) };
  if (output === undefined) throw new KilnError('internal', `the outcome of "${record.key}" is missing`);
  return { kind: 'succeeded', output };
}
