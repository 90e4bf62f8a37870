import { dueField } from '../ledger/due.ts';
import { loadPayload } from '../ledger/payloads.ts';
import { ATTEND_WITHIN_MS, heldStep, stepPath } from '../ledger/steps.ts';
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
/** Outcomes handed to the code in one commit. */
const BATCH = 20;
/** How often a commit looks again when others were quicker. */
const TRIES = 30;
const RETRY_WITHIN_MS = 3_000;

/**
 * Ends a step and lets the code go on, in one commit. Where many steps live at once, the outcome is first kept on the step itself,
 * which takes no turn: so a result is safe long before its lease is over, and one commit takes many of them.
 */
export async function commitOutcome(replayer: Replayer, runtime: Runtime, ended: EndedStep, ready?: Ready): Promise<void> {
  const { held, outcome, also = [] } = ended;
  if (decodeBaton(held.record).at === 'here') {
    const current = ready ?? (await replayer.ready(runtime, runtime.store, held));
    const writes = await replayer.outcomeWrites(runtime, [ended], runtime.store, current);
    await runtime.store.commit(writes);
    replayer.standing.keep(held.record, writes, current.execution);
    return;
  }
  if (ready === undefined || ready.opened.live.length <= DIRECT_MAX) return commitTurn(replayer, runtime, ended);
  const now = runtime.clock.now();
  const waiting = { state: 'waiting', wait: { kind: 'turn' }, wakeAt: now, due: dueField(held.record.runId, now + ATTEND_WITHIN_MS) };
  await runtime.store.commit([...heldOutcomeWrites(runtime, held, outcome, waiting), ...also]);
  await takeTurns(replayer, runtime, held);
}

/** The same beside others: whoever comes second finds that the journal has moved on, and looks again. */
async function commitTurn(replayer: Replayer, runtime: Runtime, ended: EndedStep): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await runtime.store.commit(await replayer.outcomeWrites(runtime, [ended], runtime.store));
      return;
    } catch (error) {
      if (!(error instanceof StoreConflict) || tries === TRIES) throw error;
      const { docs } = await runtime.store.get([stepPath(ended.held.record)]);
      if (docs[0]?.updateTime !== ended.held.updateTime) throw error;
    }
  }
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
  const from = paths.steps(record.accountId, record.runId);
  for (let tries = 1; tries <= TRIES;) {
    const found = await runtime.store.query({ from, where: [['turn', '==', true]], limit: BATCH });
    const kept = found.docs.map(heldStep).filter(waitsForTurn);
    if (kept.length === 0) return;
    const ended: EndedStep[] = [];
    for (const step of kept.sort((a, b) => endOfAttempt(a) - endOfAttempt(b))) {
      ended.push({ held: step, outcome: await keptOutcome(runtime.store, step) });
    }
    try {
      await runtime.store.commit(await replayer.outcomeWrites(runtime, ended, runtime.store));
      if (found.docs.length < BATCH) return;
    } catch (error) {
      if (!(error instanceof StoreConflict)) throw error;
      tries += 1;
    }
  }
  // Others are at it, and may have taken this one along. A ring later makes sure.
  await runtime.doorbells.arm(record, runtime.clock.now() + 1_000 + Math.floor(runtime.random() * RETRY_WITHIN_MS), 0);
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
