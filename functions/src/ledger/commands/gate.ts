import { paths } from '../../model/paths.ts';
import type { RunRecord } from '../../model/run.ts';
import { liveStepStates, stepRecordSchema } from '../../model/step.ts';
import { attend } from '../../runner/attend.ts';
import { attendRun } from '../../runner/runs.ts';
import { dueField } from '../due.ts';
import { LIVE_CHUNK } from '../runs.ts';
import { stepPath } from '../steps.ts';
import { remove } from '../store.ts';
import type { Query, Write } from '../store.ts';
import { carryOut } from './order.ts';
import type { Order } from './order.ts';

/** The live steps whose gate stands otherwise: what is touched falls out of the query, so that many are taken in turns. */
function stepsAtGate(order: Order, gate: 'open' | 'paused'): Query {
  return {
    from: paths.steps(order.ref.accountId, order.ref.runId),
    where: [
      ['gate', '==', gate],
      ['state', 'in', liveStepStates],
    ],
    limit: LIVE_CHUNK,
  };
}

/**
 * Pauses or resumes. Touches every live step, so that each step in flight fails its compare-and-set, looks again and obeys; a new
 * step takes its gate from the one that creates it, so none escapes. The run itself changes with the last of them.
 */
export async function setGate(order: Order, gate: 'paused' | 'open'): Promise<void> {
  const { runtime, ref } = order;
  const paused = gate === 'paused';
  const touched = new Set<string>();
  let begun = true;
  const done = await carryOut(order, async (tx, { run, runDoc, now }) => {
    begun = run.startedAt !== undefined;
    const live = await tx.query(stepsAtGate(order, paused ? 'open' : 'paused'));
    const writes = live.docs.map((doc): Write => {
      const record = stepRecordSchema.parse(doc.data);
      touched.add(record.key);
      const begins = record.state === 'ready' || record.wait?.kind === 'retry' || record.wait?.kind === 'slot';
      // What may not begin is not due; a timer keeps its time and what follows it is created paused.
      const due = !begins ? {} : paused ? { due: remove } : { due: dueField(ref.runId, Math.max(now, record.wakeAt ?? 0)) };
      return { op: 'update', path: stepPath(record), data: { gate, ...due }, ifUpdateTime: doc.updateTime };
    });
    if (live.docs.length >= LIVE_CHUNK) return { result: '', writes, more: true };
    const result = `${paused ? 'Paused' : 'Resumed'}; ${touched.size} step(s) touched`;
    return { result, writes: [...writes, { op: 'update', path: runDoc.path, data: gateOfRun(run, paused, now) }] };
  });
  if (!done || paused) return;
  if (!begun) await attendRun(runtime, ref);
  // Whatever is missed here is due, and found by the reconciler.
  for (const key of touched) await attend(runtime, { ...ref, key }, { kind: 'reconciler' });
}

/** A run that is paused before it began waits as it is, and begins when it is resumed. */
function gateOfRun(run: RunRecord, paused: boolean, now: number): object {
  if (run.startedAt !== undefined) return paused ? { status: 'paused', pausedAt: now } : { status: 'running', pausedAt: remove };
  return paused ? { status: 'paused', pausedAt: now, due: remove } : { status: 'pending', pausedAt: remove, due: dueField(run.runId, now) };
}
