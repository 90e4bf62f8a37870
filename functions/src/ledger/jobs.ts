import { jobRecordSchema } from '../model/job.ts';
import type { Runtime } from '../runner/runtime.ts';
import { attendBulk } from './bulk.ts';
import { attendErasure } from './erasure.ts';
import type { Snapshot } from './store.ts';

/** Goes on with a job. Called by the reconciler as long as it is due. */
export async function attendJob(runtime: Runtime, snapshot: Snapshot): Promise<void> {
  const job = jobRecordSchema.parse(snapshot.data);
  if (job.state !== 'running' || (await runtime.control.halted())) return;
  switch (job.kind) {
    case 'bulk':
      return attendBulk(runtime, job);
    case 'erase':
      return attendErasure(runtime, job);
  }
}
