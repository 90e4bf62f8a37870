import { parseDuration } from '../engine/duration.ts';
import { canonicalJson } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import type { Problem } from '../engine/problem.ts';
import { expireApproval } from '../ledger/approvals.ts';
import { initialState } from '../ledger/business-states.ts';
import { dueField } from '../ledger/due.ts';
import { matchBufferedEvent } from '../ledger/events.ts';
import { endRun } from '../ledger/end-run.ts';
import { liveSteps } from '../ledger/runs.ts';
import { heldStep } from '../ledger/steps.ts';
import type { Held } from '../ledger/steps.ts';
import { remove } from '../ledger/store.ts';
import type { Snapshot, Transaction, Write } from '../ledger/store.ts';
import type { Outcome } from '../ledger/transitions.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import type { ErrorRecord } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import type { RunRef } from '../model/paths.ts';
import type { RunRecord } from '../model/run.ts';
import type { StepRecord } from '../model/step.ts';
import type { DeclaredTrigger } from '../model/trigger.ts';
import type { CodePlanner, ForkOptions } from '../runner/code-planner.ts';
import type { Declared } from '../runner/declared.ts';
import { guarded } from '../runner/guards.ts';
import { beforeFirst, rejectedWrites } from '../runner/runs.ts';
import type { Runtime } from '../runner/runtime.ts';
import { policyOf } from './baton.ts';
import { compensationWrites, undoFailed, undoneWrites, undoOne } from './compensation.ts';
import type { AnyCodeWorkflow, WorkflowRegistry } from './define-workflow.ts';
import { divergedError, markDiverged } from './divergence.ts';
import { lookAtDocument, settleDocument } from './document-wait.ts';
import { forkRun } from './fork.ts';
import { endByGuard } from './guard-end.ts';
import { performEffect } from './perform-effect.ts';
import { performTransaction } from './perform-transaction.ts';
import { Replayer } from './replayer.ts';
import type { Intercept, Ready } from './replayer.ts';
import { payloadFrom } from './run-reader.ts';
import { readPayload } from './trigger-payload.ts';
import { turnWrites } from './turn.ts';
import { commitOutcome, takeTurns } from './turns.ts';

/** Plans and performs the steps of code workflows: one step an invocation, between two replays of the run function. */
export class ReplayingPlanner implements CodePlanner {
  readonly replayer: Replayer;

  constructor(registry: WorkflowRegistry, intercept?: Intercept) {
    this.replayer = new Replayer(registry, intercept);
  }

  async start(runtime: Runtime, run: RunRecord, snapshot: Snapshot, input: Json): Promise<readonly Write[]> {
    const workflow = this.replayer.registry.find(run.workflowId, run.version);
    if (workflow === undefined) {
      return rejectedWrites(runtime, run, snapshot, [
        { path: '', code: 'code.version_missing', message: this.replayer.missing(run.workflowId, run.version) },
      ]);
    }
    const problems = inputProblems(workflow, run, input);
    if (problems.length > 0) return rejectedWrites(runtime, run, snapshot, problems);
    const opened = await this.replayer.reader.openNew(runtime.store, run, canonicalJson(input));
    const execution = this.replayer.execution(runtime, workflow, opened);
    await execution.replay(true);
    if (execution.divergence !== undefined) {
      const { message } = divergedError(execution.divergence);
      return rejectedWrites(runtime, run, snapshot, [{ path: '', code: 'run.diverged', message }]);
    }
    const now = runtime.clock.now();
    const deadlineAt = workflow.deadline === undefined ? undefined : run.createdAt + parseDuration(workflow.deadline, 'deadline');
    const initial =
      workflow.states === undefined
        ? undefined
        : initialState(run, workflow.states, now, execution.recordedState ?? workflow.states.initial);
    const begun = {
      status: 'running',
      startedAt: now,
      ...(deadlineAt === undefined ? { due: remove } : { deadlineAt, due: dueField(run.runId, deadlineAt) }),
      ...initial?.fields,
    };
    const from = beforeFirst(run, deadlineAt);
    return [
      { op: 'update', path: snapshot.path, data: begun, ifUpdateTime: snapshot.updateTime },
      ...(initial?.writes ?? []),
      ...(await turnWrites({ runtime, opened, execution, from, ended: [], reader: undefined })),
    ];
  }

  async begin(runtime: Runtime, step: Held): Promise<void> {
    const { record } = step;
    if (record.type === 'compensate') return undoOne(this.replayer, runtime, step);
    // Its result is there; only the code has not seen it yet.
    if (record.turn === true) return takeTurns(this.replayer, runtime, step);
    if (record.wait?.kind === 'approval') return expireApproval(runtime, record, record.wait.approvalId);
    const workflow = this.replayer.registry.find(record.workflowId, record.version);
    const { held, guard } =
      workflow === undefined
        ? { held: step, guard: undefined }
        : await guarded(runtime, step, { timeout: workflow.timeout, limits: workflow.limits });
    if (guard !== undefined) return endByGuard(this.replayer, runtime, held, guard);
    const ready = await this.replayer.ready(runtime, runtime.store, held);
    const { divergence } = ready.execution;
    if (divergence !== undefined) return markDiverged(runtime, held, divergence);
    try {
      await this.#beginCall(runtime, held, ready);
    } catch (error) {
      if (!(error instanceof KilnError) || error.code === 'internal') throw error;
      await commitOutcome(this.replayer, runtime, { held, outcome: { kind: 'failed', error: toErrorRecord(error) } });
    }
  }

  async #beginCall(runtime: Runtime, held: Held, ready: Ready): Promise<void> {
    const { record } = held;
    const call = ready.execution.calls.get(record.key);
    if (call === undefined) throw new KilnError('internal', `the code does not wait for "${record.key}"`);
    switch (call.work.kind) {
      case 'run':
      case 'start_run':
      case 'type':
        if (record.wait?.kind === 'event') return this.#eventTimeout(runtime, held, ready, record.wait.waitId);
        return performEffect(this.replayer, runtime, held, ready, call.work);
      case 'transaction':
        return performTransaction(this.replayer, runtime, held, ready, call.work);
      case 'sleep':
        return commitOutcome(this.replayer, runtime, { held, outcome: { kind: 'succeeded', output: 'null' } }, ready);
      case 'document':
        return lookAtDocument(this.replayer, runtime, held, ready, call.work);
    }
  }

  /** An event that came in time and was not matched yet still counts: look once more before giving up. */
  async #eventTimeout(runtime: Runtime, held: Held, ready: Ready, waitId: string): Promise<void> {
    if (await matchBufferedEvent(runtime, held.record, waitId)) return;
    const close: Write = {
      op: 'update',
      path: paths.wait(held.record.accountId, waitId),
      data: { state: 'closed', endedAt: runtime.clock.now(), due: remove },
    };
    const outcome: Outcome = { kind: 'succeeded', output: canonicalJson({ timedOut: true, event: null }) };
    return commitOutcome(this.replayer, runtime, { held, outcome, also: [close] }, ready);
  }

  async fail(runtime: Runtime, held: Held, error: ErrorRecord): Promise<void> {
    if (held.record.type === 'compensate') return undoFailed(runtime, held, error);
    return commitOutcome(this.replayer, runtime, { held, outcome: { kind: 'failed', error } });
  }

  async settle(runtime: Runtime, held: Held, outcome: Outcome, tx: Transaction): Promise<readonly Write[]> {
    const { type } = held.record;
    if (type === 'document') return settleDocument(this.replayer, runtime, held, await this.replayer.ready(runtime, tx, held), tx);
    if (type === 'compensate') return undoneWrites(runtime, held, outcome, await this.replayer.ready(runtime, tx, held));
    return this.replayer.outcomeWrites(runtime, [{ held, outcome }], tx);
  }

  compensate(runtime: Runtime, run: RunRecord, tx: Transaction): Promise<readonly Write[]> {
    return compensationWrites(this.replayer, runtime, run, tx);
  }

  fork(runtime: Runtime, ref: RunRef, options: ForkOptions & { readonly runId: string }): Promise<unknown> {
    return forkRun(this.replayer, runtime, ref, options);
  }

  declared(workflowId: string, version: number): Declared | undefined {
    return this.replayer.registry.find(workflowId, version);
  }

  triggers(): readonly DeclaredTrigger[] {
    return this.replayer.registry.triggers();
  }

  /** A live step stands for the run: the commit that ends it is fenced by it. */
  async expire(runtime: Runtime, ref: RunRef, error: ErrorRecord): Promise<void> {
    const { docs } = await runtime.store.query(liveSteps(ref, 1));
    if (docs[0] === undefined) await endRun(runtime, ref, { status: 'failed', error });
    else await endByGuard(this.replayer, runtime, heldStep(docs[0]), error);
  }

  idempotent(step: StepRecord): boolean {
    return policyOf(step).idempotent;
  }

  retry(step: StepRecord): object {
    return policyOf(step).retry ?? {};
  }
}

/** Everything about a run's input that its trigger or its schema does not take. */
function inputProblems(workflow: AnyCodeWorkflow, run: RunRecord, input: Json): readonly Problem[] {
  const read = readPayload(workflow, payloadFrom(run), input);
  const checked = read.ok ? workflow.input?.safeParse(read.payload) : undefined;
  const issues = read.ok ? (checked?.error?.issues ?? []) : read.issues;
  return issues.map((issue) => ({ path: `input/${issue.path.join('/')}`, code: 'schema.mismatch', message: issue.message }));
}
