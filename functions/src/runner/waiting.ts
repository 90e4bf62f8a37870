import { placeOf } from '../engine/definition-index.ts';
import type { DefinitionIndex } from '../engine/definition-index.ts';
import { canonicalJson } from '../engine/json.ts';
import { expireApproval } from '../ledger/approvals.ts';
import { matchBufferedEvent } from '../ledger/events.ts';
import type { Held } from '../ledger/steps.ts';
import { remove } from '../ledger/store.ts';
import { finish, suspend } from '../ledger/transitions.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import type { StepConfig } from '../model/definition.ts';
import type { ComputeStepType, WaitStepType } from '../steps/step-type.ts';
import type { Resolved } from './inputs.ts';
import { lookupsFor } from './lookups.ts';
import { factsOf, ownFields, parsedConfig, resolveConfig } from './resolve.ts';
import { runOutputOf } from './run-output.ts';
import type { Runtime } from './runtime.ts';

/** A step that only computes: result and next step in one commit. */
export async function beginCompute(runtime: Runtime, held: Held, index: DefinitionIndex, type: ComputeStepType<object>): Promise<void> {
  const resolved = await resolveConfig(runtime, held, index, type);
  const { record } = held;
  const output = canonicalJson(
    type.compute({
      ref: record,
      config: parsedConfig(type, resolved),
      input: resolved.input,
      run: factsOf(held),
      now: runtime.clock.now(),
    }),
  );
  await finish(runtime, held, { index, outcome: { kind: 'succeeded', output }, runOutput: runOutputOf(runtime, held, index) });
}

/** A step that waits: it, and what it waits for, are created in one commit. */
export async function beginWait(runtime: Runtime, held: Held, index: DefinitionIndex, type: WaitStepType<object>): Promise<void> {
  await enterWait(runtime, held, type, await resolveConfig(runtime, held, index, type));
}

/** The same for a configuration that is known already. */
export async function enterWait(runtime: Runtime, held: Held, type: WaitStepType<object>, resolved: Resolved): Promise<void> {
  const { record } = held;
  const entered = await type.enter({
    ref: record,
    config: parsedConfig(type, resolved),
    input: resolved.input,
    run: factsOf(held),
    now: runtime.clock.now(),
    stepCreatedAt: record.createdAt,
    ...lookupsFor(runtime, held),
  });
  if (entered.wakeAt !== undefined) await runtime.doorbells.arm(record, entered.wakeAt, 0, held.updateTime);
  const shown = canonicalJson(ownFields(resolved.config));
  await suspend(runtime, held, {
    wait: entered.wait,
    input: shown,
    also: entered.writes,
    ...(entered.wakeAt === undefined ? {} : { wakeAt: entered.wakeAt }),
    ...(entered.details === undefined ? {} : { details: canonicalJson(entered.details) }),
  });
  if (entered.wait.kind === 'event') await matchBufferedEvent(runtime, record, entered.wait.waitId);
}

/** The wait's time has come: a timer is over, an event's or approval's deadline passed. */
export async function wakeWait(runtime: Runtime, held: Held, index: DefinitionIndex): Promise<void> {
  const { wait } = held.record;
  const runOutput = runOutputOf(runtime, held, index);
  switch (wait?.kind) {
    case 'timer':
      return finish(runtime, held, {
        index,
        outcome: { kind: 'succeeded', output: canonicalJson({ wokeAt: runtime.clock.now() }) },
        runOutput,
      });
    case 'event': {
      // An event that came in time and was not matched yet still counts: look once more before giving up.
      if (await matchBufferedEvent(runtime, held.record, wait.waitId)) return;
      const close = {
        op: 'update',
        path: paths.wait(held.record.accountId, wait.waitId),
        data: { state: 'closed', endedAt: runtime.clock.now(), due: remove },
      } as const;
      return finish(runtime, held, { index, outcome: timeoutOutcome(index, held), runOutput, also: [close] });
    }
    case 'approval':
      return expireApproval(runtime, held.record, wait.approvalId);
    case 'retry':
    case 'slot':
    case 'children':
    case 'run':
    case 'document':
    case 'turn':
    case undefined:
      return;
  }
}

function timeoutOutcome(
  index: DefinitionIndex,
  held: Held,
): { kind: 'succeeded'; output: string } | { kind: 'failed'; error: ReturnType<typeof toErrorRecord> } {
  const step: StepConfig & { onTimeout?: unknown } = placeOf(index, held.record.stepId).step;
  if (step.onTimeout === 'fail') {
    return { kind: 'failed', error: toErrorRecord(new KilnError('wait.timeout', `no event came for "${held.record.key}" in time`)) };
  }
  return { kind: 'succeeded', output: canonicalJson({ timedOut: true, event: null }) };
}
