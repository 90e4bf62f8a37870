import type { CompletionRecord } from '../model/outbox.ts';
import type { RunRef } from '../model/paths.ts';
import type { RunRecord, StartedBy } from '../model/run.ts';
import { appendEnd, firstEntry } from './history.ts';
import type { Store, Write } from './store.ts';
import type { Ledger } from './transitions.ts';

type Begun = RunRef & Pick<RunRecord, 'workflowId' | 'version' | 'startedBy' | 'forkedFrom'>;

/** The first entry of a run's history, in the commit that makes the run. */
export function startEntry(run: Begun, now: number): Write {
  const { workflowId, version, startedBy, forkedFrom } = run;
  const which = version === 0 ? `"${workflowId}"` : `version ${version} of "${workflowId}"`;
  const from = forkedFrom === undefined ? '' : ` to go on from run ${forkedFrom.runId}`;
  return firstEntry(
    run,
    { kind: 'run_started', by: starterOf(startedBy), text: `A run of ${which} was started${how(startedBy)}${from}` },
    now,
  );
}

function starterOf({ kind, id }: StartedBy): string {
  return kind === 'user' ? id : kind === 'system' ? 'system' : `${kind}:${id}`;
}

const starters: Readonly<Partial<Record<string, string>>> = {
  webhook: 'the webhook',
  schedule: 'the schedule',
  event: 'the event',
  run: 'run',
};

function how({ kind, id }: StartedBy): string {
  const starter = starters[kind];
  return starter === undefined ? '' : ` by ${starter} "${id}"`;
}

/**
 * Writes the end of a run into its history. It follows the end, and not in its commit: that one reads nothing, and would have to
 * wait for whoever writes to the history. Codes and not messages: messages may hold what not everybody reads, and entries stay.
 */
export async function tellEnd(
  { store, clock }: Pick<Ledger, 'clock'> & { readonly store: Pick<Store, 'transaction'> },
  run: RunRecord,
  { status, at }: CompletionRecord,
): Promise<void> {
  const cause = run.status === status ? run.error : undefined;
  const where = cause?.stepKey === undefined ? '' : ` at "${cause.stepKey}"`;
  const text = `${endings[status] ?? `The run ended as ${status}`}${where}${cause === undefined || status === 'cancelled' ? '' : `: ${cause.code}`}`;
  const data = { status, endedAt: at, ...(run.status !== status || run.left === undefined ? {} : { left: run.left }) };
  await store.transaction(async (tx) => {
    const happening = { kind: 'run_ended', by: 'system', text, data };
    for (const write of await appendEnd(tx, run, `${status}@${at}`, happening, clock.now())) tx.write(write);
  });
}

const endings: Readonly<Partial<Record<string, string>>> = {
  completed: 'The run completed',
  failed: 'The run failed',
  cancelled: 'The run was cancelled',
  rejected: 'The run was refused before its first step',
  compensated: 'What the run did has been undone',
};
