import { z } from 'zod';
import { parseJson } from '../engine/json.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import { startRun } from '../runner/runs.ts';
import type { Runtime } from '../runner/runtime.ts';
import { requestKey } from './new-run.ts';
import { remove } from './store.ts';

/** A member asks, by a document that only they can create, to start a run. */
export const requestRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  id: z.string(),
  workflowId: z.string(),
  /** JSON text. */
  input: z.string().max(900_000),
  by: z.string(),
  at: z.unknown(),
  status: z.enum(['pending', 'started', 'refused']),
  runId: z.string().optional(),
  reason: z.string().optional(),
  due: z.string().optional(),
});

/** Starts the run that a request asks for. The request's id is the start key: attending it twice starts one run. */
export async function attendRequest(runtime: Runtime, accountId: string, id: string): Promise<void> {
  const path = paths.request(accountId, id);
  const { docs } = await runtime.store.get([path]);
  if (docs[0] === undefined) return;
  const request = requestRecordSchema.parse(docs[0].data);
  if (request.status !== 'pending') return;
  try {
    const started = await startRun(runtime, {
      accountId,
      workflowId: request.workflowId,
      input: parseJson(request.input),
      startedBy: { kind: 'user', id: request.by },
      startKey: requestKey(id),
      policy: { restartFailed: false },
    });
    await runtime.store.commit([{ op: 'update', path, data: { status: 'started', runId: started.runId, due: remove } }]);
  } catch (thrown) {
    if (!(thrown instanceof KilnError)) throw thrown;
    await runtime.store.commit([{ op: 'update', path, data: { status: 'refused', reason: toErrorRecord(thrown).message, due: remove } }]);
  }
}
