import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { heldStep } from '../ledger/steps.ts';
import type { StoreOperation } from '../ledger/memory-store.ts';
import { paths } from '../model/paths.ts';
import type { StepProgress, StepRecord } from '../model/step.ts';
import { AttemptProgress } from '../runner/progress.ts';
import type { CompletionRequest, LlmClient } from '../services/llm.ts';
import { createTestKit } from '../testing/test-kit.ts';
import type { TestKit, TestRun } from '../testing/test-kit.ts';

const WORDS = ['The ', 'shoes ', 'were ', 'returned, ', 'so ', 'the ', 'money ', 'is ', 'on ', 'its ', 'way.'];
const PIECE_MS = 300;

let asked: CompletionRequest[];
let shown: StepProgress[];

function progressOf(operation: StoreOperation): readonly StepProgress[] {
  const writes = operation.kind === 'commit' ? operation.writes : [];
  return writes.flatMap((write) =>
    'data' in write && 'attempt' in ((write.data as Partial<StepRecord>).progress ?? {})
      ? [(write.data as StepRecord).progress as StepProgress]
      : [],
  );
}

/** A model that says a word every 300 ms. */
async function started(
  step: object,
  between: (kit: TestKit, n: number) => Promise<void> = () => Promise.resolve(),
): Promise<{ kit: TestKit; run: TestRun }> {
  asked = [];
  shown = [];
  const llm: LlmClient = {
    complete: async (request) => {
      asked.push(request);
      for (const [n, word] of WORDS.entries()) {
        kit.host.leap(PIECE_MS);
        request.onDelta?.(word);
        await setImmediate();
        await between(kit, n);
      }
      const text = WORDS.join('');
      return { text, model: request.model, usage: undefined, finishReason: 'stop', refusal: undefined, requestId: 'r', latencyMs: 1 };
    },
    embed: () => Promise.reject(new Error('not asked')),
  };
  const kit: TestKit = createTestKit({
    definitions: { wf: [{ id: 'ask', type: 'recipe', prompt: 'Where is it?', ...step }] },
    services: { llm },
    hooks: { before: (operation) => Promise.resolve(void shown.push(...progressOf(operation))) },
  });
  return { kit, run: await kit.start('wf') };
}

test('an answer shows on its step while it is written, once a second at most, and is gone when the result is there', async () => {
  const seen: unknown[] = [];
  const { kit, run } = await started({ stream: true }, (now, n) => {
    const step = [...now.host.store.all()].find(({ path }) => path.endsWith('/steps/ask'))?.data as StepRecord | undefined;
    if (n === 4) seen.push(step?.state, step?.progress);
    return Promise.resolve();
  });
  // 3.3 seconds of writing.
  expect(shown.map(({ attempt, text }) => [attempt, text])).toEqual([
    [1, 'The shoes were returned, '],
    [1, 'The shoes were returned, so the money is '],
  ]);
  expect(shown.every(({ at }, i) => at - (shown[i - 1]?.at ?? 0) >= 1_000)).toBe(true);
  expect(seen).toEqual(['running', { attempt: 1, chars: 25, text: 'The shoes were returned, ', at: shown[0]?.at }]);
  expect(kit.step(run, 'ask').progress).toBeUndefined();
  expect(await kit.result(run)).toBe(WORDS.join(''));
  expect(kit.step(run, 'ask').attempt).toBe(1);
});

test.each([{}, { stream: false }, { stream: true, sensitive: true }])(
  '%o shows nothing, and asks for the answer in one piece',
  async (step) => {
    const { kit, run } = await started(step);
    expect(kit.run(run).status).toBe('completed');
    expect(asked.map(({ onDelta }) => onDelta)).toEqual([undefined]);
    expect(shown).toEqual([]);
  },
);

test('what is shown and cannot be written is lost, and the result comes anyway', async () => {
  const { kit, run } = await started({ stream: true }, async (now, n) => {
    // Somebody touches the step, as a pause would.
    const path = [...now.host.store.all()].find((doc) => doc.path.endsWith('/steps/ask'))?.path ?? '';
    if (n === 1) await now.host.store.commit([{ op: 'update', path, data: { traceparent: 'touched' } }]);
  });
  expect(shown).toHaveLength(1);
  expect(kit.run(run).status).toBe('completed');
  expect(kit.step(run, 'ask').progress).toBeUndefined();
});

test('late progress of an attempt that was given up never shows', async () => {
  const kit = createTestKit({ definitions: { wf: [{ id: 'hold', type: 'wait', for: '1h' }] } });
  const run = await kit.start('wf');
  const path = paths.step('test', run.runId, 'hold');
  const { docs } = await kit.host.store.get([path]);
  if (docs[0] === undefined) throw new Error('there is no step');
  const old = new AttemptProgress(kit.runtime, heldStep(docs[0]));
  // Another attempt takes the step over.
  await kit.host.store.commit([{ op: 'update', path, data: { attempt: 2 } }]);
  kit.host.leap(2_000);
  old.show('late');
  await setImmediate();
  expect(kit.step(run, 'hold').progress).toBeUndefined();
  kit.host.leap(2_000);
  old.show('later');
  await old.close();
  expect(kit.step(run, 'hold').progress).toBeUndefined();
});
