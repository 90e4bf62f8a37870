/**
 * The one callable of the functions, `api`, with `{op, accountId, …}`. Every operation that this app uses is listed here with its
 * shapes. An operation that the deployed functions do not know ends in `MissingOperation`, which every page can explain.
 */
import type { Json } from '@engine/json.ts';
import type { Role } from '@model/member.ts';
import { MissingOperation, codeOf } from './problem.ts';
import { services } from './firebase.ts';

export interface DefinitionProblem {
  /** `steps[2].prompt`; empty for the whole. */
  readonly path: string;
  readonly code: string;
  readonly message: string;
}

/** A passage of the knowledge base. */
export interface KbHit {
  readonly documentId: string;
  readonly version: number;
  readonly title: string;
  readonly heading: string;
  readonly n: number;
  readonly text: string;
  readonly score: number;
}

export interface BulkFilter {
  readonly workflowId?: string;
  readonly status?: string;
  readonly businessState?: string;
  readonly from?: number;
  readonly until?: number;
}

export interface BulkJob {
  readonly jobId: string;
  readonly kind: string;
  readonly state: 'running' | 'done' | 'cancelled';
  readonly total: number;
  readonly done: number;
  readonly refused: number;
}

interface Operations {
  preflight: { in: { definition: Json }; out: { problems: readonly DefinitionProblem[] } };
  publish: { in: { definition: Json; note?: string }; out: { ok: boolean; version: number } };

  claimApproval: { in: { approvalId: string }; out: unknown };
  releaseApproval: { in: { approvalId: string }; out: unknown };
  reassignApproval: { in: { approvalId: string; to: string; from?: string; reason: string }; out: unknown };

  inviteMember: { in: { email: string; name: string; roles: readonly Role[]; departments: readonly string[] }; out: unknown };
  changeMember: {
    in: { uid: string; name?: string; roles?: readonly Role[]; departments?: readonly string[]; active?: boolean };
    out: unknown;
  };
  delegate: { in: { for?: string; to: string; from?: number; until: number; reason?: string }; out: unknown };
  endDelegation: { in: { for?: string }; out: unknown };

  publishRecipe: { in: { recipe: Json; note?: string }; out: unknown };
  kbAdd: { in: { title: string; markdown: string; collection: string; id?: string; tags?: readonly string[] }; out: unknown };
  kbDelete: { in: { id: string }; out: unknown };
  kbSearch: { in: { text: string; topK?: number }; out: { hits: readonly KbHit[] } };

  bulkList: { in: Record<string, never>; out: { jobs: readonly BulkJob[] } };
  bulkStart: { in: { kind: string; reason: string; filter: BulkFilter }; out: { jobId: string } };
  bulkCancel: { in: { jobId: string }; out: unknown };
  resend: { in: { id: string }; out: unknown };
  settleException: { in: { id: string; state: 'accepted' | 'fixed'; note: string }; out: unknown };
  acknowledgeAlert: { in: { id: string }; out: unknown };
  auditVerify: { in: { runId?: string }; out: { ok: boolean; entries: number; problem?: string } };
  health: { in: Record<string, never>; out: Json };
  saveSchedule: { in: { schedule: Json }; out: unknown };
}

export type Op = keyof Operations;

export async function call<K extends Op>(op: K, accountId: string, data: Operations[K]['in']): Promise<Operations[K]['out']> {
  const { connectFunctionsEmulator, getFunctions, httpsCallable } = await import('firebase/functions');
  const { app, environment } = services();
  const functions = getFunctions(app, environment.region);
  if (environment.emulators !== undefined)
    connectFunctionsEmulator(functions, environment.emulators.functions.host, environment.emulators.functions.port);
  try {
    const answer = await httpsCallable<unknown, Operations[K]['out']>(functions, 'api')({ ...data, op, accountId });
    return answer.data;
  } catch (error) {
    throw explained(op, error);
  }
}

/** The functions say which operation they do not know; a call that never arrived looks like an internal fault. */
function explained(op: Op, error: unknown): unknown {
  const message = error instanceof Error ? error.message : '';
  if (message.includes(`unknown op "${op}"`)) return new MissingOperation(op);
  if (codeOf(error) === 'internal' && message === 'internal') return { code: 'functions-unreachable', message };
  return error;
}

/** The problems that an answer carries in its details. */
export function problemsOf(error: unknown): readonly DefinitionProblem[] {
  const details = typeof error === 'object' && error !== null && 'details' in error ? error.details : undefined;
  const data = typeof details === 'object' && details !== null && 'data' in details ? details.data : undefined;
  const problems = typeof data === 'object' && data !== null && 'problems' in data ? data.problems : undefined;
  return Array.isArray(problems) ? (problems as readonly DefinitionProblem[]) : [];
}
