import { verdictOn } from '../../engine/legal-commands.ts';
import { parseJson } from '../../engine/json.ts';
import type { Json } from '../../engine/json.ts';
import type { CommandKind, CommandRecord } from '../../model/command.ts';
import { KilnError } from '../../model/errors.ts';
import { paths } from '../../model/paths.ts';
import type { RunRef } from '../../model/paths.ts';
import { runRecordSchema } from '../../model/run.ts';
import type { RunRecord } from '../../model/run.ts';
import type { Runtime } from '../../runner/runtime.ts';
import { dueField } from '../due.ts';
import { appendHistory } from '../history.ts';
import type { Happening } from '../history.ts';
import { heldStep } from '../steps.ts';
import type { Held } from '../steps.ts';
import { remove } from '../store.ts';
import type { Snapshot, Transaction, Write } from '../store.ts';

/** A command that nobody has carried out yet. */
export interface Order {
  readonly runtime: Runtime;
  readonly ref: RunRef;
  readonly commandId: string;
  readonly command: CommandRecord;
}

/** The run and the step that a command is about, as they are in its transaction. */
export interface Standing {
  readonly run: RunRecord;
  readonly runDoc: Snapshot;
  /** There where the command names one. */
  readonly step: Held | undefined;
  readonly now: number;
}

export interface Carried {
  /** One sentence for the operator. */
  readonly result: string;
  readonly writes: readonly Write[];
  /** There is more than one transaction takes: the same again, and only the last one closes the command. */
  readonly more?: boolean;
  /** What the command was given is as sensitive as what it is about: members read commands. */
  readonly forgets?: boolean;
  /** Facts for the history beside kind, step and reason. */
  readonly data?: object;
}

/**
 * What a command does, its answer and its entry in the history are one transaction, in which the table of commands is asked as
 * well: attended twice, or after its answer got lost, it neither happens again nor says that it did not happen.
 *
 * @throws KilnError `command.refused` where the table does not allow it
 */
export async function carryOut(order: Order, act: (tx: Transaction, standing: Standing) => Promise<Carried>): Promise<boolean> {
  const { runtime } = order;
  for (;;) {
    const progress = await runtime.store.transaction(async (tx) => {
      const standing = await stand(tx, order);
      if (standing === undefined) return 'already';
      const carried = await act(tx, standing);
      const closing = carried.more === true ? [] : await closeWrites(tx, order, { ...carried, ...argumentFate(standing) }, standing.now);
      for (const write of [...carried.writes, ...closing]) tx.write(write);
      return carried.more === true ? 'more' : 'done';
    });
    if (progress !== 'more') return progress === 'done';
  }
}

function argumentFate({ run, step }: Standing): Pick<Carried, 'forgets'> {
  return { forgets: step?.record.sensitive !== undefined || run.sensitive !== undefined || run.input.sensitive === true };
}

/** Undefined when the command has been carried out already. */
export async function stand(tx: Transaction, { runtime, ref, commandId, command }: Order): Promise<Standing | undefined> {
  const { accountId, runId } = ref;
  const stepKey = command.stepKey;
  const wanted = [paths.command(accountId, runId, commandId), paths.run(accountId, runId)];
  const { docs } = await tx.get(stepKey === undefined ? wanted : [...wanted, paths.step(accountId, runId, stepKey)]);
  const [commandDoc, runDoc, stepDoc] = docs;
  if (commandDoc?.data['status'] !== 'pending') return undefined;
  if (runDoc === undefined) throw new KilnError('run.not_found', `run ${runId} does not exist`);
  if (stepKey !== undefined && stepDoc === undefined) throw new KilnError('command.refused', `the run has no step "${stepKey}"`);
  const run = runRecordSchema.parse(runDoc.data);
  const step = stepDoc === undefined ? undefined : heldStep(stepDoc);
  const verdict = verdictOn(command.kind, run, step?.record);
  if (!verdict.allowed) throw new KilnError('command.refused', verdict.reason);
  const overtaken = overtakenBy(command.kind, commandDoc, run, stepDoc);
  if (overtaken !== undefined) throw new KilnError('command.refused', overtaken);
  return { run, runDoc, step, now: runtime.clock.now() };
}

export const FAILED_MEANWHILE = 'the run has failed meanwhile; ask again, and a new run goes on from the failed step';

/** What has happened since a command was given, where that makes something else of it: whoever gave it has to look again. */
function overtakenBy(kind: CommandKind, { createTime }: Snapshot, run: RunRecord, step: Snapshot | undefined): string | undefined {
  if (kind === 'retry' && run.status === 'failed' && createTime < (run.endedAt ?? 0)) return FAILED_MEANWHILE;
  const settles = kind === 'retry' || kind === 'skip' || kind === 'resolve';
  if (!settles || step?.data['state'] !== 'unresolved' || createTime >= step.changeTime) return undefined;
  return 'nobody knows whether the last attempt took effect, and you asked before that was known: look at the step, and ask again';
}

/** The answer, and the entry in the history. Reads: call it before the first write. */
export async function closeWrites(
  tx: Transaction,
  order: Order,
  { result, data, forgets }: Pick<Carried, 'result' | 'data' | 'forgets'>,
  now: number,
): Promise<readonly Write[]> {
  const { ref, commandId } = order;
  const history = await appendHistory(tx, ref, [happeningOf(order, result, data)], now);
  const close: Write = {
    op: 'update',
    path: paths.command(ref.accountId, ref.runId, commandId),
    data: { status: 'done', result, endedAt: now, due: remove, ...(forgets === true ? { argument: remove } : {}) },
  };
  return [...history, close];
}

function happeningOf({ command, commandId }: Order, result: string, data: object | undefined): Happening {
  const { kind, by, reason, stepKey } = command;
  return {
    kind: `command_${kind}`,
    by,
    text: `${result}. Reason: ${reason}`,
    data: { commandId, ...(stepKey === undefined ? {} : { stepKey }), ...data },
  };
}

/** What was asked would go past the workflow's own limits: it is carried out when its turn comes. */
export async function putOff(
  { runtime, ref, commandId }: Order,
  { limit, at }: { readonly limit: string; readonly at: number },
): Promise<void> {
  const path = paths.command(ref.accountId, ref.runId, commandId);
  await runtime.store.transaction(async (tx) => {
    const { docs } = await tx.get([path]);
    if (docs[0]?.data['status'] !== 'pending') return;
    tx.write({
      op: 'update',
      path,
      data: { result: `Waits for its turn: the workflow's ${limit} is used up`, due: dueField(ref.runId, at) },
    });
  });
}

/** What was asked is not done. It is written down all the same: who tried what is a part of the history. */
export async function refuse({ runtime, ref, commandId, command }: Order, why: string): Promise<void> {
  const path = paths.command(ref.accountId, ref.runId, commandId);
  const { kind, by, reason, stepKey } = command;
  await runtime.store.transaction(async (tx) => {
    const { docs } = await tx.get([path, paths.run(ref.accountId, ref.runId)]);
    if (docs[0]?.data['status'] !== 'pending') return;
    const now = runtime.clock.now();
    const data = { commandId, ...(stepKey === undefined ? {} : { stepKey }) };
    const happening = { kind: 'command_refused', by, text: `"${kind}" was refused: ${why}. Reason given: ${reason}`, data };
    const history = docs[1] === undefined ? [] : await appendHistory(tx, ref, [happening], now);
    for (const write of history) tx.write(write);
    tx.write({ op: 'update', path, data: { status: 'refused', result: why, endedAt: now, due: remove } });
  });
}

export function requiredStep({ step }: Standing): Held {
  // The table allows no such command without one.
  if (step === undefined) throw new KilnError('command.refused', 'choose the step');
  return step;
}

/** The argument as JSON; undefined when there is none. @throws KilnError `command.refused` */
export function argumentOf({ command }: Order): Json | undefined {
  if (command.argument === undefined) return undefined;
  try {
    return parseJson(command.argument);
  } catch (error) {
    throw new KilnError('command.refused', `the argument is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}
