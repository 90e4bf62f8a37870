import { LRUCache } from 'lru-cache';
import type { Write } from '../ledger/store.ts';
import { paths } from '../model/paths.ts';
import type { RunRef } from '../model/paths.ts';
import type { StepRecord } from '../model/step.ts';
import { decodeBaton } from './baton.ts';
import type { Execution } from './replay.ts';

interface Standing {
  /** The step that it waits for, as it was created. */
  readonly key: string;
  readonly baton: string;
  readonly execution: Execution;
}

const ENTRIES_MAX = 100_000;

/**
 * Executions that stand where the run stands: their code waits for the step that was just created. An instance that is woken for
 * that very step goes on with it, and nothing has to be replayed. Each is handed out once; whoever finds none replays the journal.
 */
export class StandingExecutions {
  readonly #kept = new LRUCache<string, Standing>({
    maxSize: ENTRIES_MAX,
    sizeCalculation: ({ execution }) => execution.calls.size + 100,
  });

  /** After the commit of `writes`, with which the execution went on to one step that lives alone. */
  keep(ref: RunRef, writes: readonly Write[], execution: Execution): void {
    const steps = paths.steps(ref.accountId, ref.runId);
    const created = writes.flatMap((write) =>
      write.op === 'create' && write.path.startsWith(`${steps}/`) ? [write.data as Pick<StepRecord, 'key' | 'baton'>] : [],
    );
    const [step] = created;
    if (step?.baton === undefined || created.length > 1 || !sound(execution) || decodeBaton(step).at !== 'here') return;
    execution.committed();
    this.#kept.set(paths.run(ref.accountId, ref.runId), { key: step.key, baton: step.baton, execution });
  }

  take(record: StepRecord): Execution | undefined {
    const path = paths.run(record.accountId, record.runId);
    const standing = this.#kept.get(path);
    if (standing === undefined) return undefined;
    this.#kept.delete(path);
    const fits = standing.key === record.key && standing.baton === record.baton && sound(standing.execution);
    return fits ? standing.execution : undefined;
  }
}

/** It has not ended, and did nothing meanwhile that it may not. */
function sound({ ended, divergence, fault }: Execution): boolean {
  return ended === undefined && divergence === undefined && fault === undefined;
}
