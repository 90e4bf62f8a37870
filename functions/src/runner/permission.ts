import { canonicalJson, digest } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import { suspend } from '../ledger/transitions.ts';
import type { Held } from '../ledger/steps.ts';
import type { Approvers } from '../model/approval.ts';
import type { StepCommon } from '../model/definition.ts';
import { enterApproval } from '../steps/approval.ts';
import { factsOf, ownFields } from './resolve.ts';
import { lookupsFor } from './lookups.ts';
import type { Runtime } from './runtime.ts';

interface Wanted {
  readonly guard: { readonly what: string; readonly approvers?: Approvers | undefined };
  readonly config: object & StepCommon;
  readonly input: Json;
}

const DEFAULT_APPROVERS: Approvers = { roles: ['approver', 'admin'] };

/**
 * Asks a person before a run that has read outside content acts on the outside. What is shown are the exact arguments (secrets as
 * references), and the permission is for them alone: with other arguments the step asks anew. True when the step waits now.
 */
export async function askPermission(runtime: Runtime, held: Held, { guard, config, input }: Wanted): Promise<boolean> {
  const { record } = held;
  const lookups = lookupsFor(runtime, held);
  if ((await lookups.facts()).tainted !== true) return false;
  const shown = { ...ownFields({ ...config }), ...(isEmpty(input) ? {} : { inputs: input }) } as Json;
  const subject = digest(canonicalJson({ type: config.type, shown }));
  if (record.permission?.digest === subject) return false;
  const entered = await enterApproval(
    {
      ref: record,
      run: factsOf(held),
      now: runtime.clock.now(),
      stepCreatedAt: record.createdAt,
      input: {},
      ...lookups,
      // The step's very state: asked twice at the same time it is one request, asked again later another.
      documentId: digest(`${record.runId}/${record.key}/permission/${held.updateTime}`).slice(0, 32),
      config: {
        type: 'approval',
        id: config.id,
        title: `Allow ${config.name ?? record.key}: ${guard.what}`.slice(0, 300),
        effect: `The run has read content from outside, which may have steered it. Allowing it means: ${guard.what}`.slice(0, 1_000),
        evidence: [{ kind: 'json', title: 'Exact arguments', value: shown }],
        approvers: guard.approvers ?? DEFAULT_APPROVERS,
        sensitive: config.sensitive,
      },
    },
    { purpose: 'permission', subject },
  );
  if (entered.wakeAt !== undefined) await runtime.doorbells.arm(record, entered.wakeAt, 0, held.updateTime);
  await suspend(runtime, held, {
    wait: entered.wait,
    input: canonicalJson(shown),
    also: entered.writes,
    ...(entered.wakeAt === undefined ? {} : { wakeAt: entered.wakeAt }),
  });
  return true;
}

function isEmpty(input: Json): boolean {
  return typeof input === 'object' && input !== null && Object.keys(input).length === 0;
}
