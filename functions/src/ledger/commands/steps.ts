import { z } from 'zod';
import { isInternal } from '../../engine/legal-commands.ts';
import { canonicalJson } from '../../engine/json.ts';
import type { Json } from '../../engine/json.ts';
import { errorClasses, KilnError } from '../../model/errors.ts';
import type { ErrorRecord } from '../../model/errors.ts';
import { attend } from '../../runner/attend.ts';
import { finishWait } from '../../runner/finish-wait.ts';
import type { Runtime } from '../../runner/runtime.ts';
import { settledUndo } from '../../runner/undo-settling.ts';
import { dueField } from '../due.ts';
import { storePayload } from '../payloads.ts';
import { closeWaitWrites } from '../runs.ts';
import { ATTEND_WITHIN_MS, stepPath, UNDO } from '../steps.ts';
import type { Held } from '../steps.ts';
import { remove } from '../store.ts';
import type { Transaction, Write } from '../store.ts';
import type { Outcome } from '../transitions.ts';
import { argumentOf, carryOut, FAILED_MEANWHILE, requiredStep } from './order.ts';
import { guardOf } from '../sensitive.ts';
import type { Order, Standing } from './order.ts';

const retryArgument = z.strictObject({ input: z.json() });

/**
 * The next attempt is made now, with another input if one is given. What somebody retries although nobody knows its outcome may
 * take effect twice: that is theirs to judge.
 */
export async function retryStep(order: Order): Promise<void> {
  const { runtime, ref, command } = order;
  const argument = argumentOf(order);
  const done = await carryOut(order, async (_tx, standing) => {
    const { record, updateTime } = requiredStep(standing);
    if (standing.run.status === 'failed') throw new KilnError('command.refused', FAILED_MEANWHILE);
    const edited = argument === undefined ? undefined : editedInput(record.kind, record.type, argument);
    const stored = edited === undefined ? undefined : storePayload(record, `${record.key}~edited`, canonicalJson(edited), guardOf(record));
    const now = standing.now;
    const data = {
      state: 'waiting',
      // A code step that stopped where the code did not fit goes on with what it waited for.
      wait: record.turn === true ? { kind: 'turn' } : (record.wait ?? { kind: 'retry' }),
      wakeAt: now,
      due: record.gate === 'paused' ? remove : dueField(ref.runId, now + ATTEND_WITHIN_MS),
      ...(stored === undefined ? {} : { editedInput: stored.payload }),
    };
    const step: Write = { op: 'update', path: stepPath(record), data, ifUpdateTime: updateTime };
    const undoing: Write[] =
      standing.run.status === 'needs_resolution' ? [{ op: 'update', path: standing.runDoc.path, data: { status: 'compensating' } }] : [];
    return {
      result: `Attempt ${record.attempt + 1} of "${record.key}" is made${edited === undefined ? '' : ' with an edited input'}`,
      writes: [step, ...(stored?.writes ?? []), ...undoing],
    };
  });
  if (done && command.stepKey !== undefined) await attend(runtime, { ...ref, key: command.stepKey }, { kind: 'reconciler' });
}

function editedInput(kind: 'graph' | 'code', type: string, argument: Json): Json {
  if (kind === 'code')
    throw new KilnError('command.refused', 'the input of a code step comes from the code; fork the run onto code that is right');
  if (isInternal({ type })) throw new KilnError('command.refused', 'the input of a compensation follows from what it undoes');
  const parsed = retryArgument.safeParse(argument);
  if (!parsed.success || !isObject(parsed.data.input)) {
    throw new KilnError('command.refused', 'the argument of a retry is {"input": {…}}: the step’s input as it is shown, edited');
  }
  return parsed.data.input;
}

const skipArgument = z.strictObject({ output: z.json() });

/** The step counts as done, with the output that somebody supplies; what it waited for is closed. */
export async function skipStep(order: Order): Promise<void> {
  const argument = argumentOf(order);
  const parsed = argument === undefined ? { success: true as const, data: { output: null } } : skipArgument.safeParse(argument);
  if (!parsed.success) throw new KilnError('command.refused', 'the argument of a skip is {"output": …}: what later steps see');
  const output = canonicalJson(parsed.data.output);
  await carryOut(order, async (tx, standing) => {
    const held = requiredStep(standing);
    const outcome: Outcome = { kind: 'succeeded', output, details: supplied(order, 'skipped') };
    const writes = await endFromOutside(order, tx, held, outcome, 'skipped');
    return { result: `"${held.record.key}" was skipped`, writes: [...writes, ...closeWaitWrites(held.record, standing.now)] };
  });
}

const eventArgument = z.strictObject({ payload: z.json(), key: z.string().optional() });

/** The time counts as over, or the event as received. */
export async function overrideWait(order: Order): Promise<void> {
  const argument = argumentOf(order);
  await carryOut(order, async (tx, standing) => {
    const held = requiredStep(standing);
    const output = canonicalJson(waitOutput(order, standing, held, argument));
    const outcome: Outcome = { kind: 'succeeded', output, details: supplied(order, 'overridden') };
    const writes = await endFromOutside(order, tx, held, outcome);
    return { result: `"${held.record.key}" does not wait any longer`, writes: [...writes, ...closeWaitWrites(held.record, standing.now)] };
  });
}

function waitOutput({ commandId }: Order, { now }: Standing, { record }: Held, argument: Json | undefined): Json {
  if (record.wait?.kind !== 'event') {
    if (argument !== undefined) throw new KilnError('command.refused', 'a timer takes no argument');
    return record.kind === 'code' ? null : { wokeAt: now };
  }
  const parsed = eventArgument.safeParse(argument ?? { payload: null });
  if (!parsed.success) throw new KilnError('command.refused', 'the argument is {"payload": …}: what the event would have said');
  const { payload, key = record.wait.key ?? null } = parsed.data;
  return {
    timedOut: false,
    event: { id: `command:${commandId}`, name: record.wait.event, key, receivedAt: now, payload: payload },
  };
}

const resolveArgument = z.discriminatedUnion('outcome', [
  z.strictObject({ outcome: z.literal('succeeded'), output: z.json().optional() }),
  z.strictObject({
    outcome: z.literal('failed'),
    code: z.string().min(1).max(100).optional(),
    message: z.string().max(2_000).optional(),
    class: z.enum(errorClasses).optional(),
  }),
]);

/** A person has looked and says what became of a step whose outcome nobody knew. */
export async function resolveStep(order: Order): Promise<void> {
  const parsed = resolveArgument.safeParse(argumentOf(order));
  if (!parsed.success) {
    throw new KilnError('command.refused', 'the argument is {"outcome": "succeeded", "output": …} or {"outcome": "failed", "message": …}');
  }
  const settled = parsed.data;
  await carryOut(order, async (tx, standing) => {
    const held = requiredStep(standing);
    const details = supplied(order, 'resolved');
    const outcome: Outcome =
      settled.outcome === 'succeeded'
        ? { kind: 'succeeded', output: canonicalJson(settled.output ?? null), details }
        : { kind: 'failed', error: failureOf(order, settled), details };
    return { result: `"${held.record.key}" was settled as ${settled.outcome}`, writes: await endFromOutside(order, tx, held, outcome) };
  });
}

function failureOf({ command }: Order, settled: Extract<z.infer<typeof resolveArgument>, { outcome: 'failed' }>): ErrorRecord {
  return {
    code: settled.code ?? 'step.failed',
    class: settled.class ?? (settled.code === undefined ? 'not_retryable' : 'business'),
    message: settled.message ?? `${command.by} settled it as failed: ${command.reason}`,
  };
}

/** Ends a step as its own end would, whichever planner the run has; `state` tells a skipped one apart. */
async function endFromOutside(
  { runtime }: Order,
  tx: Transaction,
  held: Held,
  outcome: Outcome,
  state?: 'skipped',
): Promise<readonly Write[]> {
  const path = stepPath(held.record);
  const writes = await endWrites(runtime, tx, held, outcome);
  if (state === undefined) return writes;
  return writes.map((write) => {
    const ends = write.op === 'update' && write.path === path && 'state' in write.data && write.data.state === 'succeeded';
    return ends ? { ...write, data: { ...write.data, state } } : write;
  });
}

async function endWrites(runtime: Runtime, tx: Transaction, held: Held, outcome: Outcome): Promise<readonly Write[]> {
  const { record } = held;
  if (record.type !== UNDO) return finishWait(runtime, held, outcome, tx);
  // A person's word ends an undoing also when it says that the effect stands.
  const index = await runtime.definitions.get(record.accountId, record.workflowId, record.version);
  return settledUndo(runtime, held, index, outcome, tx);
}

/** Said on the step as well, so that nobody takes it for the target's answer. */
function supplied({ command }: Order, how: 'skipped' | 'overridden' | 'resolved'): string {
  return canonicalJson({ [how]: { by: command.by, reason: command.reason } });
}

function isObject(value: Json): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
