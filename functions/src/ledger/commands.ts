import { commandRecordSchema } from '../model/command.ts';
import type { CommandRecord } from '../model/command.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import type { RunRef } from '../model/paths.ts';
import { runRecordSchema, terminalRunStatuses } from '../model/run.ts';
import { stepRecordSchema } from '../model/step.ts';
import { attend } from '../runner/attend.ts';
import type { Runtime } from '../runner/runtime.ts';
import { dueField } from './due.ts';
import { endRun } from './end-run.ts';
import { LIVE_CHUNK, liveSteps } from './runs.ts';
import { stepPath } from './steps.ts';
import { remove } from './store.ts';

/** Carries out what an operator asked. Each command is idempotent: attending it twice changes nothing more. */
export async function attendCommand(runtime: Runtime, ref: RunRef, commandId: string): Promise<void> {
  const path = paths.command(ref.accountId, ref.runId, commandId);
  const { docs } = await runtime.store.get([path]);
  if (docs[0] === undefined) return;
  const command = commandRecordSchema.parse(docs[0].data);
  if (command.status !== 'pending') return;
  const close = (status: 'done' | 'refused', result: string) =>
    ({ op: 'update', path, data: { status, result, endedAt: runtime.clock.now(), due: remove } }) as const;
  try {
    const result = await carryOut(runtime, ref, command);
    await runtime.store.commit([close('done', result)]);
  } catch (thrown) {
    if (!(thrown instanceof KilnError)) throw thrown;
    await runtime.store.commit([close('refused', toErrorRecord(thrown).message)]);
  }
}

async function carryOut(runtime: Runtime, ref: RunRef, command: CommandRecord): Promise<string> {
  switch (command.kind) {
    case 'pause':
      return setGate(runtime, ref, 'paused');
    case 'resume':
      return setGate(runtime, ref, 'open');
    case 'cancel': {
      const error = toErrorRecord(new KilnError('run.cancelled', `cancelled by ${command.by}: ${command.reason}`));
      const ended = await endRun(runtime, ref, { status: 'cancelled', error });
      if (!ended) throw new KilnError('request.invalid', 'the run has ended already');
      return 'cancelled';
    }
    default:
      throw new KilnError('request.invalid', `this deployment cannot carry out "${command.kind}"`);
  }
}

/** Touches every live step, so that each step in flight fails its compare-and-set, looks again and obeys. */
async function setGate(runtime: Runtime, ref: RunRef, gate: 'paused' | 'open'): Promise<string> {
  const touched: string[] = [];
  for (let more = true; more;) {
    more = await runtime.store.transaction(async (tx) => {
      const path = paths.run(ref.accountId, ref.runId);
      const { docs } = await tx.get([path]);
      if (docs[0] === undefined) throw new KilnError('run.not_found', `run ${ref.runId} does not exist`);
      const run = runRecordSchema.parse(docs[0].data);
      if (terminalRunStatuses.has(run.status))
        throw new KilnError('request.invalid', `the run is ${run.status}; nothing is left to ${gate === 'paused' ? 'pause' : 'resume'}`);
      const live = await tx.query(liveSteps(ref, LIVE_CHUNK));
      const now = runtime.clock.now();
      const steps = live.docs
        .map((doc) => ({ doc, record: stepRecordSchema.parse(doc.data) }))
        .filter(({ record }) => record.gate !== gate);
      for (const { doc, record } of steps) {
        const begins = record.state === 'ready' || record.wait?.kind === 'retry' || record.wait?.kind === 'slot';
        // What may not begin is not due; a timer keeps its time and what follows it is created paused.
        const due = !begins ? {} : gate === 'paused' ? { due: remove } : { due: dueField(ref.runId, Math.max(now, record.wakeAt ?? 0)) };
        tx.write({ op: 'update', path: stepPath(record), data: { gate, ...due }, ifUpdateTime: doc.updateTime });
        touched.push(record.key);
      }
      tx.write({ op: 'update', path, data: { status: gate === 'paused' ? 'paused' : 'running' } });
      return live.docs.length >= LIVE_CHUNK && steps.length > 0;
    });
  }
  if (gate === 'open') {
    for (const key of touched) await attend(runtime, { ...ref, key }, { kind: 'reconciler' });
  }
  return `${gate === 'paused' ? 'paused' : 'resumed'}; ${touched.length} step(s) touched`;
}
