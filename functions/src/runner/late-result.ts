import { digest } from '../engine/json.ts';
import { appendHistory } from '../ledger/history.ts';
import { heldStep, stepPath } from '../ledger/steps.ts';
import type { Held } from '../ledger/steps.ts';
import type { StepRecord } from '../model/step.ts';
import { addSeries } from '../telemetry/metrics.ts';
import { count } from '../telemetry/series.ts';
import type { Series } from '../telemetry/series.ts';
import type { AttemptOutcome } from './attempt.ts';
import type { Runtime } from './runtime.ts';

const SHOWN_CHARS = 4_000;

/**
 * An attempt ended after the step had been taken from it: by a cancel, or because its lease was over. What it came to is recorded
 * and not applied: a person who looks later sees that the effect happened all the same. That of a sensitive step is not repeated.
 */
export async function recordLateResult(runtime: Runtime, { record }: Held, outcome: AttemptOutcome): Promise<void> {
  if (outcome.kind === 'wait') return;
  const { key, attempt } = record;
  const shows = record.sensitive === undefined;
  const failed = outcome.kind === 'succeeded' ? undefined : outcome.error;
  const late = await runtime.store.transaction(async (tx) => {
    const { docs } = await tx.get([stepPath(record)]);
    const closed = docs[0] === undefined ? undefined : heldStep(docs[0]).record.attempts.find(({ n }) => n === attempt);
    // It was our own commit whose answer got lost.
    if (closed?.outcome === (failed === undefined ? 'succeeded' : 'failed')) return false;
    const text =
      failed === undefined
        ? `Attempt ${attempt} of "${key}" succeeded after the step had been taken from it; its result was not applied`
        : `Attempt ${attempt} of "${key}" failed after the step had been taken from it: ${shows ? failed.message : failed.code}`;
    const data = {
      stepKey: key,
      attempt,
      ...(outcome.kind === 'succeeded' ? outputFacts(outcome.output, shows) : { outcome: 'failed', code: outcome.error.code }),
    };
    const now = runtime.clock.now();
    const history = await appendHistory(tx, record, [{ kind: 'late_result', by: 'system', text, data }], now);
    const counted = await addSeries(tx, { accountId: record.accountId, shardKey: record.runId, at: now }, seriesOf(record, outcome), now);
    for (const write of [...history, ...counted]) tx.write(write);
    return true;
  });
  if (late) runtime.observe({ kind: 'late_result', step: record });
}

function seriesOf({ workflowId: workflow }: StepRecord, { kind }: AttemptOutcome): Series {
  const series: Series = new Map();
  count(series, 'workflow_late_results_total', { workflow, outcome: kind === 'succeeded' ? 'succeeded' : 'failed' });
  return series;
}

function outputFacts(output: string, shows: boolean): object {
  return { outcome: 'succeeded', digest: digest(output), ...(shows && output.length <= SHOWN_CHARS ? { output } : {}) };
}
