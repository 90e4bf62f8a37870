import { z } from 'zod';
import { canonicalJson } from '../engine/json.ts';
import { pin } from '../ledger/definitions.ts';
import { newRunWrites } from '../ledger/new-run.ts';
import { inputSecrecy } from '../runner/input-secrecy.ts';
import { childTraceparent } from '../engine/trace-context.ts';
import type { WaitStepType } from './step-type.ts';

const schema = z.strictObject({
  type: z.literal('subworkflow'),
  workflow: z.string().min(1),
  /** Pins a version of the child; otherwise its newest. */
  version: z.number().int().positive().optional(),
});

export const subworkflow: WaitStepType<z.infer<typeof schema>> = {
  type: 'subworkflow',
  title: 'Subworkflow',
  description: 'Starts another workflow and waits for its output. Cancelling this run cancels it.',
  kind: 'wait',
  schema,
  async enter({ ref, config, input, documentId, facts, definitions, now }) {
    const parent = await facts();
    const traceparent = childTraceparent(parent.traceparent, ref);
    const pinned = await pin(definitions, { accountId: ref.accountId, workflowId: config.workflow, version: config.version });
    const child = newRunWrites({
      // What a sensitive step passes on is no less so there, whatever the other workflow says.
      sensitive:
        config.sensitive === true
          ? 'run'
          : await inputSecrecy(definitions, { accountId: ref.accountId, workflowId: config.workflow }, pinned),
      accountId: ref.accountId,
      runId: documentId,
      workflowId: config.workflow,
      pinned,
      input: canonicalJson(input),
      startedBy: { kind: 'run', id: ref.runId },
      chainDepth: parent.chainDepth + 1,
      parent: { runId: ref.runId, stepKey: ref.key },
      ...(parent.tainted === true ? { tainted: true } : {}),
      ...(traceparent === undefined ? {} : { traceparent }),
      now,
    });
    return { wait: { kind: 'run', runId: documentId }, writes: child };
  },
};
