import { canonicalJson, digest } from '../engine/json.ts';
import { plainData } from '../ledger/documents.ts';
import { documentEvent } from '../ledger/event-match.ts';
import { matchBufferedEvent } from '../ledger/events.ts';
import type { Held } from '../ledger/steps.ts';
import { remove } from '../ledger/store.ts';
import type { Transaction, Write } from '../ledger/store.ts';
import { suspend, suspendWrites } from '../ledger/transitions.ts';
import type { SuspendOptions } from '../ledger/transitions.ts';
import { ANY_KEY } from '../model/event.ts';
import type { WaitRecord } from '../model/event.ts';
import { paths } from '../model/paths.ts';
import type { Runtime } from '../runner/runtime.ts';
import type { Work } from './call.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import type { Ready, Replayer } from './replayer.ts';
import type { Reader } from './run-reader.ts';
import { commitOutcome } from './turns.ts';
import type { Outcome } from '../ledger/transitions.ts';

type DocumentWork = Extract<Work, { kind: 'document' }>;

/** Events looked at again although they came just before the wait: the clocks of two instances differ a little. */
const OVERLAP_MS = 60_000;

/** Looks at the document now. Where the predicate does not hold, waits for a change that a trigger tells of, and looks again in a while. */
export async function lookAtDocument(replayer: Replayer, runtime: Runtime, held: Held, ready: Ready, work: DocumentWork): Promise<void> {
  const { record } = held;
  const outcome = await lookNow(runtime, runtime.store, held, work);
  const open = record.wait?.kind === 'event' ? record.wait : undefined;
  if (outcome !== undefined) {
    const also: Write[] =
      open === undefined
        ? []
        : [
            {
              op: 'update',
              path: paths.wait(record.accountId, open.waitId),
              data: { state: 'closed', endedAt: runtime.clock.now(), due: remove },
            },
          ];
    return commitOutcome(replayer, runtime, { held, outcome, also }, ready);
  }
  const options = open === undefined ? waitOptions(runtime, held, work) : { wait: open, wakeAt: nextLook(runtime, held, work) };
  if (options.wakeAt !== undefined) await runtime.doorbells.arm(record, options.wakeAt, 0);
  await suspend(runtime, held, options);
  if (options.wait.kind === 'event') await matchBufferedEvent(runtime, record, options.wait.waitId);
}

/** A change came: the writes of another wait, or undefined when the step ends with the outcome that `settle` was handed. */
export async function settleDocument(
  replayer: Replayer,
  runtime: Runtime,
  held: Held,
  ready: Ready,
  tx: Transaction,
): Promise<readonly Write[]> {
  const work = ready.execution.calls.get(held.record.key)?.work;
  if (ready.execution.divergence !== undefined || work?.kind !== 'document') {
    return replayer.outcomeWrites(runtime, [{ held, outcome: { kind: 'succeeded', output: 'null' } }], tx, ready);
  }
  const outcome = await lookNow(runtime, tx, held, work);
  if (outcome !== undefined) return replayer.outcomeWrites(runtime, [{ held, outcome }], tx, ready);
  const options = waitOptions(runtime, held, work);
  if (options.wakeAt !== undefined) await runtime.doorbells.arm(held.record, options.wakeAt, 0);
  return suspendWrites(runtime, held, options);
}

async function lookNow(runtime: Runtime, reader: Reader, { record }: Held, work: DocumentWork): Promise<Outcome | undefined> {
  const { docs } = await reader.get([work.path]);
  const data = docs[0]?.data;
  try {
    if (work.predicate(data)) return { kind: 'succeeded', output: canonicalJson(plainData(data ?? null)) };
  } catch (error) {
    return {
      kind: 'failed',
      error: error instanceof KilnError ? toErrorRecord(error) : { ...toErrorRecord(error), class: 'not_retryable' },
    };
  }
  return runtime.clock.now() >= record.createdAt + work.timeoutMs ? { kind: 'succeeded', output: 'null' } : undefined;
}

function nextLook(runtime: Runtime, { record }: Held, work: DocumentWork): number {
  return Math.min(record.createdAt + work.timeoutMs, runtime.clock.now() + work.everyMs);
}

function waitOptions(runtime: Runtime, held: Held, work: DocumentWork): SuspendOptions {
  const { accountId, runId, key } = held.record;
  const now = runtime.clock.now();
  const waitId = digest(`${runId}/${key}/${runtime.token()}`).slice(0, 32);
  const name = documentEvent(work.path);
  const record: WaitRecord = {
    v: 1,
    accountId,
    waitId,
    runId,
    stepKey: key,
    name,
    key: ANY_KEY,
    since: now - OVERLAP_MS,
    state: 'open',
    createdAt: now,
  };
  return {
    wait: { kind: 'event', waitId, event: name },
    wakeAt: nextLook(runtime, held, work),
    details: canonicalJson({ path: work.path }),
    also: [{ op: 'create', path: paths.wait(accountId, waitId), data: record }],
  };
}
