import type { CommandKind } from './command.ts';

/**
 * The documents that a client may create, exactly as `firestore.rules` wants them. `at` is always the server's time: hand in
 * `serverTimestamp()` of the client SDK in use.
 */

/** `due` of a document that a client created: the reconciler finds it at once when its trigger got lost. */
export const DUE_AT_ONCE = '0|0000000000000';

interface ByClient {
  readonly accountId: string;
  /** The signed-in person. */
  readonly by: string;
  readonly at: unknown;
}

export interface DecisionInput extends ByClient {
  readonly approvalId: string;
  readonly outcome: string;
  /** The digest of the approval document that the person looked at. */
  readonly digest: string;
  readonly comment?: string;
  /** JSON text of edited values. */
  readonly values?: string;
}

/** `approvals/{approvalId}/decisions/{by}` */
export function decisionDocument({ accountId, approvalId, by, at, outcome, digest, comment, values }: DecisionInput): object {
  return {
    v: 1,
    accountId,
    approvalId,
    by,
    at,
    outcome,
    digest,
    ...(comment === undefined ? {} : { comment }),
    ...(values === undefined ? {} : { values }),
    due: DUE_AT_ONCE,
  };
}

export interface CommandInput extends ByClient {
  readonly runId: string;
  readonly kind: CommandKind;
  readonly reason: string;
  readonly stepKey?: string;
  /** JSON text. */
  readonly argument?: string;
}

/** `runs/{runId}/commands/{id}` */
export function commandDocument({ accountId, runId, by, at, kind, reason, stepKey, argument }: CommandInput): object {
  return {
    v: 1,
    accountId,
    runId,
    by,
    at,
    kind,
    reason,
    status: 'pending',
    ...(stepKey === undefined ? {} : { stepKey }),
    ...(argument === undefined ? {} : { argument }),
    due: DUE_AT_ONCE,
  };
}

export interface RequestInput extends ByClient {
  readonly id: string;
  readonly workflowId: string;
  /** JSON text, at most 900,000 characters. */
  readonly input: string;
}

/** `requests/{id}`: asks to start a run. */
export function requestDocument({ accountId, id, by, at, workflowId, input }: RequestInput): object {
  return { v: 1, accountId, id, workflowId, input, by, at, status: 'pending', due: DUE_AT_ONCE };
}
