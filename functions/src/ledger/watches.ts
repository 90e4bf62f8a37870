import { formatDuration } from '../engine/duration.ts';
import { watchRecordSchema } from '../model/alert.ts';
import type { WatchRecord } from '../model/alert.ts';
import { paths } from '../model/paths.ts';
import { runRecordSchema, terminalRunStatuses } from '../model/run.ts';
import type { RunRecord } from '../model/run.ts';
import { alertOnce } from './alerts.ts';
import type { Breach } from './alerts.ts';
import { dueField } from './due.ts';
import type { Snapshot } from './store.ts';
import type { Ledger } from './transitions.ts';

/** Looks whether what was to be over by now is over; if not, people are told, once. */
export async function attendWatch(ledger: Ledger, snapshot: Snapshot): Promise<void> {
  await ledger.store.transaction(async (tx) => {
    const { docs } = await tx.get([snapshot.path]);
    if (docs[0] === undefined) return;
    const watch = watchRecordSchema.parse(docs[0].data);
    const run = (await tx.get([paths.run(watch.accountId, watch.runId)])).docs[0];
    const now = ledger.clock.now();
    if (now < watch.at) {
      tx.write({ op: 'update', path: snapshot.path, data: { due: dueField(watch.runId, watch.at) } });
      return;
    }
    const breach = run === undefined ? undefined : breachOf(watch, runRecordSchema.parse(run.data), now);
    const told = breach === undefined ? [] : await alertOnce(tx, breach, now);
    tx.write({ op: 'delete', path: snapshot.path });
    for (const write of told) tx.write(write);
  });
}

function breachOf(watch: WatchRecord, run: RunRecord, now: number): Breach | undefined {
  if (terminalRunStatuses.has(run.status)) return undefined;
  const { accountId, runId, workflowId, version } = run;
  const base = { accountId, runId, workflowId, version };
  const lasted = formatDuration(now - watch.since);
  const name = run.businessKey ?? runId;
  switch (watch.kind) {
    case 'run':
      return {
        ...base,
        kind: 'run_overdue',
        breach: 'run',
        title: `${workflowId} ${name} takes too long`,
        text: `The run was started ${lasted} ago and has not ended; it is ${run.status}.`,
      };
    case 'state':
      if (watch.businessState === undefined || run.businessState !== watch.businessState || run.stateSince !== watch.since)
        return undefined;
      return {
        ...base,
        kind: 'state_overdue',
        breach: `${watch.businessState}@${watch.since}`,
        businessState: watch.businessState,
        title: `${workflowId} ${name} is still "${watch.businessState}"`,
        text: `The run has been "${watch.businessState}" for ${lasted}.`,
      };
  }
}
