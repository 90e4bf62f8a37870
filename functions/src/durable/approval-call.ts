import type { Reading } from './call.ts';
import type { ApprovalOptions } from './step-api.ts';

/** The approval step's configuration. What is written differently in code: a single role, and `show`. */
export function approvalConfig(name: string, { approvers, show, ...rest }: ApprovalOptions): object {
  const { role, roles, department, departments, user, users, ...other } = approvers;
  const list = (one: string | undefined, many: readonly string[] | undefined): readonly string[] | undefined =>
    one === undefined ? many : [one, ...(many ?? [])];
  const who = { ...other, roles: list(role, roles), departments: list(department, departments), users: list(user, users) };
  const shown = Object.entries(show ?? {}).map(([title, value]) => evidence(title, value));
  const given = Array.isArray(rest['evidence']) ? (rest['evidence'] as unknown[]) : [];
  return {
    title: name,
    // In code, a rejection is an outcome to look at, not an exception to catch.
    onReject: 'continue',
    ...rest,
    approvers: Object.fromEntries(Object.entries(who).filter(([, value]) => value !== undefined)),
    ...(shown.length + given.length === 0 ? {} : { evidence: [...given, ...shown] }),
  };
}

function evidence(title: string, value: unknown): object {
  return typeof value === 'string' ? { kind: 'text', title, text: value } : { kind: 'json', title, value: value ?? null };
}

/** The recorded output as a decision. */
export const approvalReading: Reading = {
  value: (record) => {
    const fields = typeof record === 'object' && record !== null && !Array.isArray(record) ? record : {};
    const outcome = typeof fields['outcome'] === 'string' ? fields['outcome'] : 'unknown';
    return { approved: agrees(outcome), outcome, record, values: fields['values'] ?? null };
  },
};

/** Declared outcomes of a step's own agree, each for itself. */
function agrees(outcome: string): boolean {
  return !['reject', 'request_changes', 'abstain', 'expired', 'unknown'].includes(outcome);
}
