import { canonicalJson } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import type { Held } from '../ledger/steps.ts';
import { KilnError } from '../model/errors.ts';
import type { StepConfig } from '../model/definition.ts';
import { paths } from '../model/paths.ts';
import { admit } from '../runner/admission.ts';
import { activeLimit } from '../runner/guards.ts';
import type { Resolved } from '../runner/inputs.ts';
import { attemptOutcome, idempotencyKey, LEASE_MARGIN_MS, stillHeld } from '../runner/perform.ts';
import type { AttemptOutcome } from '../runner/perform.ts';
import { factsOf, ownFields, parsedConfig } from '../runner/resolve.ts';
import { startRun } from '../runner/runs.ts';
import type { Runtime } from '../runner/runtime.ts';
import { enterWait } from '../runner/waiting.ts';
import type { AnyStepType, EffectStepType } from '../steps/step-type.ts';
import { attemptStep, timeoutOf } from './attempt.ts';
import type { Work } from './call.ts';
import { stepErrorRecord } from './errors.ts';
import type { Ready, Replayer } from './replayer.ts';
import { sealedConfig } from './secret-text.ts';
import type { StepContext } from './step-api.ts';
import { commitOutcome } from './turns.ts';

type EffectWork = Extract<Work, { kind: 'run' | 'start_run' | 'type' }>;

/** Performs a step that does something: the team's own function, a registered step type, or the start of another run. */
export async function performEffect(replayer: Replayer, runtime: Runtime, held: Held, ready: Ready, work: EffectWork): Promise<void> {
  switch (work.kind) {
    case 'run':
      return attempted(replayer, runtime, held, ready, work.options, undefined, (claimed, timeoutMs) =>
        runFunction(runtime, claimed, replayer.functionOf(claimed.record, work.fn), timeoutMs),
      );
    case 'start_run':
      return attempted(replayer, runtime, held, ready, {}, canonicalJson({ workflow: work.workflowId, input: work.input }), (claimed) =>
        startAnother(runtime, claimed, ready, work),
      );
    case 'type':
      return performType(replayer, runtime, held, ready, work);
  }
}

type Perform = (claimed: Held, timeoutMs: number) => Promise<AttemptOutcome>;

function attempted(
  replayer: Replayer,
  runtime: Runtime,
  held: Held,
  ready: Ready,
  options: Parameters<typeof timeoutOf>[0],
  input: string | undefined,
  perform: Perform,
  effect?: string,
): Promise<void> {
  const timeoutMs = timeoutOf(options, activeLimit(ready.execution.workflow) - held.record.activeMs);
  // The execution can be handed one result only; after that, the code is replayed.
  let unused: Ready | undefined = ready;
  return attemptStep(runtime, held, {
    timeoutMs,
    ...(input === undefined ? {} : { input }),
    ...(effect === undefined ? {} : { effect }),
    perform: (claimed) => perform(claimed, timeoutMs),
    conclude: (now, outcome) => {
      const mine = unused;
      unused = undefined;
      return commitOutcome(replayer, runtime, { held: now, outcome }, mine);
    },
  });
}

/** Calls a function of the team's own under a time limit. What it returns must be JSON. */
export async function runFunction(
  runtime: Runtime,
  claimed: Held,
  fn: (context: StepContext) => unknown,
  timeoutMs: number,
): Promise<AttemptOutcome> {
  const { record } = claimed;
  let underWay = false;
  const stillOurs = async (): Promise<boolean> => (await stillHeld(runtime, claimed)) !== undefined;
  const call = async (signal: AbortSignal): Promise<unknown> => {
    underWay = true;
    try {
      return await fn({ idempotencyKey: idempotencyKey(record.runId, record.key), attempt: record.attempt, signal });
    } finally {
      underWay = false;
    }
  };
  try {
    return { kind: 'succeeded', output: canonicalJson(await runtime.limitTime(timeoutMs, call, stillOurs)) };
  } catch (thrown) {
    const error = stepErrorRecord(thrown, runtime.clock.now());
    // Given up on while it was under way: what it did, or will still do, nobody knows.
    return { kind: 'error', error: underWay ? { ...error, class: 'unknown_outcome' } : error };
  }
}

async function startAnother(
  runtime: Runtime,
  { record }: Held,
  { opened }: Ready,
  work: Extract<Work, { kind: 'start_run' }>,
): Promise<AttemptOutcome> {
  try {
    const { docs } = await runtime.store.get([paths.run(record.accountId, record.runId)]);
    const { runId } = await startRun(runtime, {
      accountId: record.accountId,
      workflowId: work.workflowId,
      input: work.input,
      ...(work.version === undefined ? {} : { version: work.version }),
      startedBy: { kind: 'run', id: record.runId },
      chainDepth: opened.facts.chainDepth + 1,
      ...(docs[0]?.data['tainted'] === true ? { tainted: true } : {}),
      // Attempted twice, it is one run.
      startKey: `step:${record.runId}/${record.key}`,
      policy: { restartFailed: false },
    });
    return { kind: 'succeeded', output: canonicalJson({ runId }) };
  } catch (error) {
    return { kind: 'error', error: stepErrorRecord(error, runtime.clock.now()) };
  }
}

async function performType(
  replayer: Replayer,
  runtime: Runtime,
  held: Held,
  ready: Ready,
  work: Extract<Work, { kind: 'type' }>,
): Promise<void> {
  const type = runtime.stepTypes.get(held.record.type);
  const config = sealedConfig({ ...work.config, id: held.record.key }, type.secretFields ?? []);
  const resolved = { config, input: work.input as { [name: string]: Json } };
  switch (type.kind) {
    case 'effect':
      return performAdmitted(replayer, runtime, held, ready, { type, work: { ...work, config }, resolved });
    case 'wait':
      return enterWait(runtime, held, type, resolved);
    case 'compute': {
      const output = type.compute({
        ref: held.record,
        config: parsedConfig(type, resolved),
        input: resolved.input,
        run: factsOf(held),
        now: runtime.clock.now(),
      });
      return commitOutcome(replayer, runtime, { held, outcome: { kind: 'succeeded', output: canonicalJson(output) } }, ready);
    }
  }
}

interface Typed {
  readonly type: EffectStepType<object>;
  readonly work: Extract<Work, { kind: 'type' }>;
  readonly resolved: Resolved;
}

/** As in a graph workflow: permission, effect and limits come before the attempt. */
async function performAdmitted(
  replayer: Replayer,
  runtime: Runtime,
  held: Held,
  ready: Ready,
  { type, work, resolved }: Typed,
): Promise<void> {
  const admission = await admit(runtime, held, {
    type,
    step: resolved.config as unknown as StepConfig,
    resolved,
    guardTainted: ready.execution.workflow.guardTainted ?? true,
    holdMs: timeoutOf(work.options, activeLimit(ready.execution.workflow) - held.record.activeMs) + LEASE_MARGIN_MS,
    end: (outcome, also) => commitOutcome(replayer, runtime, { held, outcome, also }, ready),
  });
  if (admission === undefined) return;
  try {
    const perform: Perform = (claimed, timeoutMs) => attemptOutcome(runtime, claimed, type, resolved, timeoutMs);
    await attempted(replayer, runtime, held, ready, work.options, shown(type, work), perform, admission.effect);
  } finally {
    await admission.release();
  }
}

function shown(type: AnyStepType, { config, input }: Extract<Work, { kind: 'type' }>): string {
  const fields = Object.entries(ownFields(config)).filter(([field]) => field !== 'type' && type.literalFields?.includes(field) !== true);
  try {
    const inputs = typeof input === 'object' && input !== null && Object.keys(input).length === 0 ? {} : { inputs: input };
    return canonicalJson({ ...Object.fromEntries(fields), ...inputs });
  } catch (error) {
    throw error instanceof KilnError
      ? new KilnError('request.invalid', `the configuration of the step is not JSON: ${error.message}`)
      : error;
  }
}
