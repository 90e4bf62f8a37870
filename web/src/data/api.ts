/**
 * The one callable of the functions, `api`, with `{op, accountId, …}`. Every operation that this app uses is listed here with its
 * shapes. An operation that the deployed functions do not know ends in `MissingOperation`, which every page can explain.
 */
import type { Json } from '@engine/json.ts';
import type { BulkRequest, Retention, Subject } from '@model/job.ts';
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

/** A tool as its server describes it now, and whether somebody approved this description. */
export interface ListedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Json;
  readonly destructive: boolean;
  readonly hash: string;
  readonly approval: 'approved' | 'changed' | 'none';
}

/** What checking a chain of entries came to. */
export type Verification =
  { readonly ok: true; readonly entries: number } | { readonly ok: false; readonly n: number; readonly problem: string };

/** What the reconciler did when it last came by. */
export interface Health {
  readonly at: number;
  readonly repaired: number;
  readonly failed: number;
  /** More was due than one tick attends. */
  readonly behind: boolean;
  /** When it last looked at every run that has not ended. */
  readonly auditedAt: number;
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

  'recipes.publish': { in: { recipe: Json }; out: unknown };
  'kb.add': { in: { title: string; markdown: string; collection: string; id?: string; tags?: readonly string[] }; out: unknown };
  'kb.delete': { in: { id: string }; out: unknown };
  'kb.search': { in: { text: string; topK?: number }; out: readonly KbHit[] };
  'schedules.put': { in: Readonly<Record<string, Json>>; out: unknown };
  'schedules.delete': { in: { scheduleId: string }; out: unknown };
  'hooks.put': { in: Readonly<Record<string, Json>>; out: unknown };
  'hooks.delete': { in: { hookId: string }; out: unknown };
  'mcp.put': { in: Readonly<Record<string, Json>>; out: unknown };
  'mcp.delete': { in: { serverId: string }; out: unknown };
  'mcp.tools': { in: { serverId: string }; out: readonly ListedTool[] };
  'mcp.approve': { in: { serverId: string; tools: Readonly<Record<string, string>> }; out: unknown };
  'limits.put': { in: { limits: Readonly<Record<string, number>> }; out: unknown };
  'outbox.resend': { in: { id: string }; out: unknown };

  'effects.settle': { in: { id: string; happened: boolean; result?: Json; reason: string }; out: unknown };

  erasePerson: { in: Subject; out: { jobId: string } };
  setRetention: { in: Partial<Omit<Retention, 'v'>>; out: unknown };
  exportRun: { in: { runId: string }; out: { text: string; digest: string } };

  startBulk: { in: Omit<BulkRequest, 'rate'>; out: { jobId: string } };
  cancelJob: { in: { jobId: string }; out: unknown };
  acknowledgeAlert: { in: { alertId: string }; out: unknown };
  settleException: { in: { id: string; state: 'accepted' | 'fixed'; reason: string }; out: unknown };
  verifyAudit: { in: Record<string, never>; out: Verification };
  verifyHistory: { in: { runId: string }; out: Verification };
  health: { in: Record<string, never>; out: Health | null };
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
