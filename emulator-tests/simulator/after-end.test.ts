import { describe, expect, test } from 'vitest';
import { erasePayloads } from '../../functions/src/ledger/erase-run.ts';
import { paths } from '../../functions/src/model/paths.ts';
import type { RunRecord } from '../../functions/src/model/run.ts';
import { runRecordSchema } from '../../functions/src/model/run.ts';
import type { StepRecord } from '../../functions/src/model/step.ts';
import { stepRecordSchema } from '../../functions/src/model/step.ts';
import { createTestKit } from '../../functions/src/testing/test-kit.ts';
import { mayFollowEnd, mayFollowStep } from './after-end.ts';

async function ended(): Promise<{ run: RunRecord; step: StepRecord; erased: { run: RunRecord; step: StepRecord } }> {
  const kit = createTestKit({ definitions: { wf: { steps: [{ id: 'a', type: 'transform', value: 'x' }] } } });
  const started = await kit.start('wf', { secret: 'x' });
  const at = { run: paths.run(kit.accountId, started.runId), step: paths.step(kit.accountId, started.runId, 'a') };
  const look = (): { run: RunRecord; step: StepRecord } => ({
    run: runRecordSchema.parse(kit.document(at.run)),
    step: stepRecordSchema.parse(kit.document(at.step)),
  });
  const before = look();
  await erasePayloads(kit.host.store, before.run, kit.now);
  return { ...before, erased: look() };
}

describe('what may follow the end of a run', () => {
  test('compensation by command, the comparison of its outcome, and erasure as retention does it', async () => {
    const { run, step, erased } = await ended();
    const { endedAt: _endedAt, ...undone } = run;
    expect(mayFollowEnd(run, { ...run })).toBe(true);
    const failed: StepRecord = { ...step, state: 'failed', error: { code: 'step.failed', class: 'not_retryable', message: 'no' } };
    expect(mayFollowStep(failed, { ...failed })).toBe(true);
    expect(mayFollowEnd(run, { ...undone, status: 'compensating' })).toBe(true);
    expect(mayFollowEnd(run, { ...run, reconciliation: 'mismatch' })).toBe(true);
    expect(mayFollowEnd(run, erased.run)).toBe(true);
    expect(mayFollowStep(step, erased.step)).toBe(true);
  });

  test.each<[string, (run: RunRecord) => RunRecord]>([
    ['another end', (run) => ({ ...run, status: 'failed' })],
    ['a run that goes on', (run) => ({ ...run, status: 'running' })],
    ['another output', (run) => ({ ...run, output: { size: 1, digest: '0'.repeat(64), json: '2' } })],
    [
      'another output while it is undone',
      (run) => ({ ...run, status: 'compensating', output: { size: 1, digest: '0'.repeat(64), json: '2' } }),
    ],
    ['another output in the name of erasure', (run) => ({ ...run, erasedAt: 1, output: { size: 1, digest: '0'.repeat(64), json: '2' } })],
    ['another end in the name of erasure', (run) => ({ ...run, erasedAt: 1, status: 'failed' })],
    ['two changes at once', (run) => ({ ...run, reconciliation: 'reconciled', endedAt: 1 })],
  ])('%s is none of it', async (_what, change) => {
    const { run } = await ended();
    expect(mayFollowEnd(run, change(run))).toBe(false);
  });

  test('a step that ended again, or anew, is none of it', async () => {
    const { step, erased } = await ended();
    expect(mayFollowStep(step, { ...step, state: 'failed' })).toBe(false);
    expect(mayFollowStep(step, { ...step, attempt: 2 })).toBe(false);
    expect(mayFollowStep(step, { ...erased.step, output: { size: 1, digest: '0'.repeat(64), json: '{"erased":true}' } })).toBe(false);
  });
});
