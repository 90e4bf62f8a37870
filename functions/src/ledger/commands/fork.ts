import { z } from 'zod';
import { verdictOn } from '../../engine/legal-commands.ts';
import { canonicalJson, digest, parseJson } from '../../engine/json.ts';
import type { Json } from '../../engine/json.ts';
import { KilnError } from '../../model/errors.ts';
import { paths } from '../../model/paths.ts';
import { runRecordSchema } from '../../model/run.ts';
import type { RunRecord } from '../../model/run.ts';
import { stepRecordSchema } from '../../model/step.ts';
import type { StepRecord } from '../../model/step.ts';
import { createdWithPlaces, turnOf } from '../../runner/queue.ts';
import { inputSecrecy } from '../../runner/input-secrecy.ts';
import { preflightRun } from '../../runner/preflight-run.ts';
import { prepareFork, writeAhead } from '../fork.ts';
import { newRunWrites } from '../new-run.ts';
import { loadPayload, storePayload } from '../payloads.ts';
import { guardOf } from '../sensitive.ts';
import { StoreConflict } from '../store.ts';
import type { Write } from '../store.ts';
import { argumentOf, carryOut, putOff } from './order.ts';
import type { Order } from './order.ts';

const forkArgument = z.strictObject({ version: z.number().int().positive().optional(), input: z.json().optional() });

/** A new run from the step that the command names, with all that came before it; without one, from the beginning. */
export async function fork(order: Order): Promise<void> {
  const { version, input } = argument(order);
  const { run, step } = await read(order);
  if (order.command.stepKey === undefined) return again(order, run, version, input);
  if (input !== undefined)
    throw new KilnError('command.refused', 'a fork from a step keeps the run’s input; retry the step with an edited one');
  await goOn(order, run, step, version, undefined);
}

const retryArgument = z.strictObject({ input: z.record(z.string(), z.json()).optional(), version: z.number().int().positive().optional() });

/** A failed run never changes; trying it again is a new run that goes on from the failed step. Asked twice, it is one. */
export async function retryRun(order: Order): Promise<void> {
  const parsed = retryArgument.safeParse(argumentOf(order) ?? {});
  if (!parsed.success) throw new KilnError('command.refused', 'the argument of a retry is {"input": {…}}, {"version": n} or both');
  const { run, step } = await read(order);
  const runId = newRunId(order);
  const { docs } = await order.runtime.store.get([paths.run(run.accountId, runId)]);
  if (docs[0] === undefined) return goOn(order, run, step, parsed.data.version, parsed.data.input);
  const result = `Run ${runId} went on from there already; it is ${runRecordSchema.parse(docs[0].data).status}`;
  await carryOut(order, () => Promise.resolve({ result, writes: [], data: { forkedTo: runId } }));
}

function argument(order: Order): z.infer<typeof forkArgument> {
  const parsed = forkArgument.safeParse(argumentOf(order) ?? {});
  if (!parsed.success) throw new KilnError('command.refused', 'the argument of a fork is {"version": n}');
  return parsed.data;
}

async function read({ runtime, ref, command }: Order): Promise<{ run: RunRecord; step: StepRecord | undefined }> {
  const wanted = [paths.run(ref.accountId, ref.runId)];
  if (command.stepKey !== undefined) wanted.push(paths.step(ref.accountId, ref.runId, command.stepKey));
  const { docs } = await runtime.store.get(wanted);
  if (docs[0] === undefined) throw new KilnError('run.not_found', `run ${ref.runId} does not exist`);
  if (command.stepKey !== undefined && docs[1] === undefined)
    throw new KilnError('command.refused', `the run has no step "${command.stepKey}"`);
  return { run: runRecordSchema.parse(docs[0].data), step: docs[1] === undefined ? undefined : stepRecordSchema.parse(docs[1].data) };
}

/** The same command makes the same run, however often it is carried out; and so do retries that ask for the same. */
function newRunId({ ref, commandId, command: { kind, stepKey, argument } }: Order): string {
  const from = `${ref.accountId}/${ref.runId}`;
  return digest(kind === 'retry' ? canonicalJson(['retry', from, stepKey ?? '', argument ?? '']) : `fork ${from}/${commandId}`).slice(
    0,
    24,
  );
}

/** From the beginning: a run like any other, that says where it comes from. */
async function again(order: Order, run: RunRecord, version: number | undefined, input: Json | undefined): Promise<void> {
  const { runtime, ref, command } = order;
  const runId = newRunId(order);
  const pinned = await pinnedVersion(order, run, version);
  const text = input === undefined ? await loadPayload(runtime.store, run, run.input) : canonicalJson(input);
  const secrecy = await inputSecrecy(runtime.definitions, run, pinned);
  await carryOut(order, (_tx, { now }) => {
    const { chainDepth, tainted } = run;
    const start = { accountId: ref.accountId, runId, workflowId: run.workflowId, pinned, input: text, chainDepth, now } as const;
    const writes = newRunWrites({
      ...start,
      sensitive: run.sensitive ?? secrecy,
      startedBy: { kind: 'user', id: command.by },
      forkedFrom: { runId: run.runId, stepKey: '' },
      inputFrom: run.inputFrom ?? run.startedBy.kind,
      ...(tainted === undefined ? {} : { tainted }),
    });
    return Promise.resolve({ result: `Run ${runId} begins with the same input`, writes, data: { forkedTo: runId } });
  });
}

async function goOn(
  order: Order,
  run: RunRecord,
  step: StepRecord | undefined,
  version: number | undefined,
  edited: Json | undefined,
): Promise<void> {
  if (run.kind === 'code') return goOnCode(order, run, version, edited);
  const { runtime, ref, command } = order;
  const legal = verdictOn(command.kind, run, step);
  if (!legal.allowed) throw new KilnError('command.refused', legal.reason);
  const runId = newRunId(order);
  const pinned = await pinnedVersion(order, run, version);
  const index = await runtime.definitions.get(ref.accountId, run.workflowId, pinned.version);
  const input = parseJson(await loadPayload(runtime.store, run, run.input));
  await checkFirst(order, { ...run, ...pinned }, input);
  const turn = await turnOf(runtime, { ...run, ...pinned, runId }, index.definition, input);
  if (turn.kind === 'later') return putOff(order, turn);
  const prepared = await prepareFork(runtime.store, { run, index, pinned, from: step, by: command.by, runId, now: runtime.clock.now() });
  const { begun, kept } = prepared.plan;
  if (begun.length === 0) throw new KilnError('command.refused', 'there is nothing to do again; choose the step to go on from');
  const last =
    edited === undefined
      ? prepared.last
      : withEditedInput(order, runId, prepared.last, step === undefined ? begun.map(({ key }) => key) : [step.key], edited);
  await writeAhead(runtime.store, prepared.ahead);
  await carryOut(order, () => {
    const places = begun.map(({ key }) => `"${key}"`);
    const where = places.length > 3 ? `${places.slice(0, 3).join(', ')} and ${places.length - 3} more` : places.join(', ');
    return Promise.resolve({
      result: `Run ${runId} goes on from ${where}; ${kept.length} step(s) are kept`,
      writes: createdWithPlaces(last, paths.run(ref.accountId, runId), turn),
      data: { forkedTo: runId },
    });
  });
}

/** What would reject a new run of that version rejects the fork. */
async function checkFirst({ runtime }: Order, run: RunRecord, input: Json): Promise<void> {
  const problems = await preflightRun(runtime, run, input);
  if (problems.length === 0) return;
  const first = problems.slice(0, 3).map(({ path, message }) => `${path === '' ? '' : `${path}: `}${message}`);
  throw new KilnError('command.refused', `version ${run.version} has ${problems.length} problem(s): ${first.join('; ')}`);
}

/** The input that the step to be done again is given, in the form in which it is shown. */
function withEditedInput({ ref }: Order, runId: string, writes: readonly Write[], keys: readonly string[], edited: Json): readonly Write[] {
  const [key, ...others] = keys;
  if (key === undefined || others.length > 0)
    throw new KilnError('command.refused', 'several steps are done again; name the one whose input is edited');
  const path = paths.step(ref.accountId, runId, key);
  const begun = writes.flatMap((write) => (write.op === 'create' && write.path === path ? [stepRecordSchema.parse(write.data)] : []))[0];
  const guard = begun === undefined ? undefined : guardOf(begun);
  const stored = storePayload({ accountId: ref.accountId, runId }, `${key}~edited`, canonicalJson(edited), guard);
  const changed = writes.map((write) =>
    write.op === 'create' && write.path === path ? { ...write, data: { ...write.data, editedInput: stored.payload } } : write,
  );
  return [...changed, ...stored.writes];
}

/** A code run goes on from its journal. Its documents come first, under an id that follows from the command. */
async function goOnCode(order: Order, run: RunRecord, version: number | undefined, edited: Json | undefined): Promise<void> {
  if (edited !== undefined)
    throw new KilnError('command.refused', 'the input of a code step comes from the code; fork the run onto code that is right');
  const { runtime, ref, command } = order;
  const runId = newRunId(order);
  // Of a failed run, what failed is done again; of any other, it goes on where it stood.
  const from = command.stepKey ?? (run.status === 'failed' ? run.error?.stepKey : undefined);
  // Whether it may be done is asked before and, in the same transaction as the answer, after.
  await carryOut(order, async () => {
    try {
      const by = { kind: 'user', id: command.by } as const;
      await runtime.code.fork(runtime, ref, {
        by,
        runId,
        ...(from === undefined ? {} : { from }),
        ...(version === undefined ? {} : { version }),
      });
    } catch (error) {
      if (!(error instanceof StoreConflict)) throw error;
    }
    return {
      result: `Run ${runId} goes on from ${from === undefined ? 'where this one stood' : `"${from}"`}`,
      writes: [],
      data: { forkedTo: runId },
    };
  });
}

async function pinnedVersion(
  { runtime, ref }: Order,
  run: RunRecord,
  version: number | undefined,
): Promise<Pick<RunRecord, 'version' | 'hash' | 'kind'>> {
  const { kind, hash } = run;
  return version === undefined || version === run.version
    ? { version: run.version, hash, kind }
    : runtime.definitions.pinned(ref.accountId, run.workflowId, version);
}
