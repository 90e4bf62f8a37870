import { commandRecordSchema } from '../model/command.ts';
import type { CommandRecord } from '../model/command.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import type { RunRef } from '../model/paths.ts';
import { runRecordSchema, terminalRunStatuses } from '../model/run.ts';
import type { RunRecord } from '../model/run.ts';
import { stepRecordSchema } from '../model/step.ts';
import { attend } from '../runner/attend.ts';
import { attendRun } from '../runner/runs.ts';
import type { Runtime } from '../runner/runtime.ts';
import { dueField } from './due.ts';
import { endRun } from './end-run.ts';
import { LIVE_CHUNK, liveSteps } from './runs.ts';
import { stepPath } from './steps.ts';
import { remove } from './store.ts';
import type { Transaction, Write } from './store.ts';

/**
 * Carries out what an operator asked. What a command does and its answer are one commit: attended twice, or after its answer got
 * lost, it neither happens again nor says that it did not happen.
 */
export async function attendCommand(runtime: Runtime, ref: RunRef, commandId: string): Promise<void> {
  const path = paths.command(ref.accountId, ref.runId, commandId);
  const { docs } = await runtime.store.get([path]);
  if (docs[0] === undefined) return;
  const command = commandRecordSchema.parse(docs[0].data);
  if (command.status !== 'pending') return;
  const order: Order = {
    command,
    path,
    done: (result) => ({ op: 'update', path, data: { status: 'done', result, endedAt: runtime.clock.now(), due: remove } }),
  };
  try {
    await carryOut(runtime, ref, order);
  } catch (thrown) {
    if (!(thrown instanceof KilnError)) throw thrown;
    const data = { status: 'refused', result: toErrorRecord(thrown).message, endedAt: runtime.clock.now(), due: remove };
    await runtime.store.transaction(async (tx) => {
      if (await isPending(tx, path)) tx.write({ op: 'update', path, data });
    });
  }
}

interface Order {
  readonly command: CommandRecord;
  readonly path: string;
  /** The answer, to be written in the commit that makes it true. */
  done(result: string): Write;
}

async function isPending(tx: Transaction, path: string): Promise<boolean> {
  return (await tx.get([path])).docs[0]?.data['status'] === 'pending';
}

async function carryOut(runtime: Runtime, ref: RunRef, order: Order): Promise<void> {
  const { command } = order;
  switch (command.kind) {
    case 'pause':
      return setGate(runtime, ref, 'paused', order);
    case 'resume':
      return setGate(runtime, ref, 'open', order);
    case 'cancel': {
      const error = toErrorRecord(new KilnError('run.cancelled', `cancelled by ${command.by}: ${command.reason}`));
      const ended = await endRun(runtime, ref, { status: 'cancelled', error }, [order.done('cancelled')]);
      if (!ended) throw new KilnError('request.invalid', 'the run has ended already');
      return;
    }
    default:
      throw new KilnError('request.invalid', `this deployment cannot carry out "${command.kind}"`);
  }
}

/** Touches every live step, so that each step in flight fails its compare-and-set, looks again and obeys. */
async function setGate(runtime: Runtime, ref: RunRef, gate: 'paused' | 'open', order: Order): Promise<void> {
  const touched = new Set<string>();
  const paused = gate === 'paused';
  let begun = true;
  for (let more = true; more;) {
    more = await runtime.store.transaction(async (tx) => {
      if (!(await isPending(tx, order.path))) return false;
      const path = paths.run(ref.accountId, ref.runId);
      const { docs } = await tx.get([path]);
      if (docs[0] === undefined) throw new KilnError('run.not_found', `run ${ref.runId} does not exist`);
      const run = runRecordSchema.parse(docs[0].data);
      if (terminalRunStatuses.has(run.status))
        throw new KilnError('request.invalid', `the run is ${run.status}; nothing is left to ${paused ? 'pause' : 'resume'}`);
      const live = await tx.query(liveSteps(ref, LIVE_CHUNK));
      const now = runtime.clock.now();
      const steps = live.docs
        .map((doc) => ({ doc, record: stepRecordSchema.parse(doc.data) }))
        .filter(({ record }) => record.gate !== gate);
      for (const { doc, record } of steps) {
        const begins = record.state === 'ready' || record.wait?.kind === 'retry' || record.wait?.kind === 'slot';
        // What may not begin is not due; a timer keeps its time and what follows it is created paused.
        const due = !begins ? {} : paused ? { due: remove } : { due: dueField(ref.runId, Math.max(now, record.wakeAt ?? 0)) };
        tx.write({ op: 'update', path: stepPath(record), data: { gate, ...due }, ifUpdateTime: doc.updateTime });
        touched.add(record.key);
      }
      begun = run.startedAt !== undefined;
      tx.write({ op: 'update', path, data: gateOfRun(run, paused, now) });
      if (live.docs.length >= LIVE_CHUNK && steps.length > 0) return true;
      tx.write(order.done(`${paused ? 'paused' : 'resumed'}; ${touched.size} step(s) touched`));
      return false;
    });
  }
  if (paused) return;
  if (!begun) await attendRun(runtime, ref);
  for (const key of touched) await attend(runtime, { ...ref, key }, { kind: 'reconciler' });
}

/** A run that is paused before it began waits as it is, and begins when it is resumed. */
function gateOfRun(run: RunRecord, paused: boolean, now: number): object {
  if (run.startedAt !== undefined) return { status: paused ? 'paused' : 'running' };
  return paused ? { status: 'paused', due: remove } : { status: 'pending', due: dueField(run.runId, now) };
}
