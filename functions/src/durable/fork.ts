import { newRunWrites } from '../ledger/new-run.ts';
import type { Write } from '../ledger/store.ts';
import { KilnError } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import type { RunRef } from '../model/paths.ts';
import { runRecordSchema } from '../model/run.ts';
import type { RunRecord, StartedBy } from '../model/run.ts';
import type { Runtime } from '../runner/runtime.ts';
import { encodeHead } from './baton.ts';
import { append, countEntries, emptyJournal, entriesBefore, isPassing } from './journal.ts';
import type { Entry } from './journal.ts';
import type { Replayer } from './replayer.ts';
import { latestJournal } from './run-reader.ts';

export interface ForkOptions {
  readonly by: StartedBy;
  /** The step that is done anew, with all that follows it. Default: where the run diverged, else where it stands. */
  readonly from?: string;
  /** Default: the newest version of the code. */
  readonly version?: number;
  readonly runId?: string;
}

/**
 * Starts a new run that takes over what another has done up to a step, and goes on with the code that is deployed now. The run
 * forked from is not touched. Steps that are done anew have new idempotency keys: what they did in the other run, they do again.
 *
 * @throws KilnError `run.not_found`, `request.invalid`, `code.version_missing`
 */
export async function forkRun(replayer: Replayer, runtime: Runtime, ref: RunRef, options: ForkOptions): Promise<{ runId: string }> {
  const { docs } = await runtime.store.get([paths.run(ref.accountId, ref.runId)]);
  if (docs[0] === undefined) throw new KilnError('run.not_found', `run ${ref.runId} does not exist`);
  const run = runRecordSchema.parse(docs[0].data);
  const pinned = replayer.registry.pinned(run.workflowId, options.version);
  if (run.kind !== 'code' || pinned === undefined)
    throw new KilnError('code.version_missing', replayer.missing(run.workflowId, options.version ?? run.version));
  const journal = await latestJournal(runtime.store, replayer.reader, ref);
  const entries = await replayer.reader.rawEntries(runtime.store, ref, journal);
  const taken = takenOver(run, entries, options.from);
  const runId = options.runId ?? runtime.token();
  const facts = await replayer.reader.facts(runtime.store, ref);
  const writes = newRunWrites({
    accountId: ref.accountId,
    runId,
    workflowId: run.workflowId,
    pinned,
    input: facts.payload,
    startedBy: options.by,
    chainDepth: run.chainDepth,
    ...(run.tainted === undefined ? {} : { tainted: run.tainted }),
    forkedFrom: { runId: run.runId, stepKey: options.from ?? run.error?.stepKey ?? '' },
    inputFrom: run.inputFrom ?? run.startedBy.kind,
    sensitive: run.sensitive,
    now: runtime.clock.now(),
  });
  await runtime.store.commit([...writes, ...journalWrites({ accountId: ref.accountId, runId }, taken, run.runId)]);
  return { runId };
}

/** What the fork need not do again. */
function takenOver(run: RunRecord, entries: readonly Entry[], from: string | undefined): readonly Entry[] {
  if (from !== undefined) {
    const before = entriesBefore(entries, from);
    if (before !== undefined) return before;
    // Under way but not ended: everything that ended comes before it.
    if (run.error?.stepKey === from) return entries;
    throw new KilnError(
      'request.invalid',
      `run ${run.runId} has recorded no step "${from}"; it has: ${
        entries
          .filter(({ type }) => !isPassing(type))
          .map(({ key }) => key)
          .slice(-20)
          .join(', ') || 'none'
      }`,
    );
  }
  const data = run.status === 'diverged' ? run.error?.data : undefined;
  const position =
    typeof data === 'object' && data !== null && 'position' in data && typeof data.position === 'number' ? data.position : entries.length;
  return entries.slice(0, position);
}

function journalWrites(ref: RunRef, entries: readonly Entry[], origin: string): readonly Write[] {
  // Values that were too large to travel stay with the run that made them.
  const own = entries.map((entry): Entry =>
    entry.result.kind === 'stored' ? { ...entry, result: { ...entry.result, runId: entry.result.runId ?? origin } } : entry,
  );
  const { journal, created } = append(emptyJournal, undefined, own, own.filter(({ type }) => !isPassing(type)).length);
  return [
    {
      op: 'set',
      path: paths.journal(ref.accountId, ref.runId, 'head'),
      data: encodeHead({ journal, live: [], activeMs: 0 }, countEntries(journal)),
    },
    ...created.map((chunk): Write => ({
      op: 'set',
      path: paths.journal(ref.accountId, ref.runId, chunk.ref.id),
      data: { v: 1, entries: chunk.ref.entries, text: chunk.text },
    })),
  ];
}
