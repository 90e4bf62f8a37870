/**
 * Every query of the app, as data. Each has a limit and needs no more than the indexes of firestore.indexes.json, which a test outside
 * of the app's build holds them against: hence no alias and no Firebase here.
 */
import { paths } from '../../../functions/src/model/paths.ts';
import type { RunStatus } from '../../../functions/src/model/run.ts';
import { liveStepStates } from '../../../functions/src/model/step.ts';
import { ID_FIELD, type ListSpec } from './list-spec.ts';

export const pageSize = {
  accounts: 50,
  members: 200,
  inbox: 50,
  notifications: 20,
  runs: 50,
  firstSteps: 100,
  steps: 300,
  audit: 500,
} as const;

/** What the runs are narrowed down to. */
export interface RunFilter {
  /** `waiting`: running, and a person is asked. */
  readonly status?: RunStatus | 'waiting';
  readonly workflow?: string;
  readonly state?: string;
  readonly key?: string;
  readonly from?: number;
  readonly until?: number;
  /** The run after which the page begins. */
  readonly after?: { readonly createdAt: number; readonly runId: string };
}

function runConditions({ status, workflow, state, key, from, until }: RunFilter): NonNullable<ListSpec['where']> {
  return [
    ...(workflow === undefined ? [] : [['workflowId', '==', workflow] as const]),
    ...(status === undefined ? [] : [['status', '==', status === 'waiting' ? 'running' : status] as const]),
    ...(status === 'waiting' ? [['pendingApprovals', '>', 0] as const] : []),
    ...(state === undefined ? [] : [['businessState', '==', state] as const]),
    ...(key === undefined ? [] : [['businessKey', '==', key] as const]),
    ...(from === undefined ? [] : [['createdAt', '>=', from] as const]),
    ...(until === undefined ? [] : [['createdAt', '<', until] as const]),
  ];
}

export const queries = {
  /** The accounts that a person belongs to. */
  memberships: (uid: string): ListSpec => ({
    path: 'members',
    group: true,
    where: [['uid', '==', uid]],
    limit: pageSize.accounts,
  }),

  members: (accountId: string): ListSpec => ({ path: paths.members(accountId), orderBy: [['name', 'asc']], limit: pageSize.members }),

  /** What waits for a person, the most urgent first. */
  inbox: (accountId: string, uid: string): ListSpec => ({
    path: paths.approvals(accountId),
    where: [
      ['eligible', 'array-contains', uid],
      ['status', '==', 'pending'],
    ],
    orderBy: [['deadlineAt', 'asc']],
    limit: pageSize.inbox,
  }),

  /** What a person was asked and what came of it. */
  decided: (accountId: string, uid: string): ListSpec => ({
    path: paths.approvals(accountId),
    where: [
      ['eligible', 'array-contains', uid],
      ['status', 'in', ['decided', 'expired', 'cancelled']],
    ],
    orderBy: [['endedAt', 'desc']],
    limit: 20,
  }),

  decisions: (accountId: string, approvalId: string): ListSpec => ({ path: paths.decisions(accountId, approvalId), limit: 100 }),

  verdicts: (accountId: string, approvalId: string): ListSpec => ({ path: paths.verdicts(accountId, approvalId), limit: 100 }),

  runs: (accountId: string, filter: RunFilter): ListSpec => ({
    path: paths.runs(accountId),
    where: runConditions(filter),
    orderBy: [
      ['createdAt', 'desc'],
      [ID_FIELD, 'desc'],
    ],
    ...(filter.after === undefined ? {} : { startAfter: [filter.after.createdAt, filter.after.runId] }),
    limit: pageSize.runs,
  }),

  /** The one run before or after another. */
  neighbour: (
    run: { readonly accountId: string; readonly runId: string; readonly createdAt: number },
    direction: 'older' | 'newer',
  ): ListSpec => ({
    path: paths.runs(run.accountId),
    orderBy: [
      ['createdAt', direction === 'older' ? 'desc' : 'asc'],
      [ID_FIELD, direction === 'older' ? 'desc' : 'asc'],
    ],
    startAfter: [run.createdAt, run.runId],
    limit: 1,
  }),

  workflows: (accountId: string): ListSpec => ({
    path: `${paths.account(accountId)}/workflows`,
    orderBy: [['updatedAt', 'desc']],
    limit: 100,
  }),

  versions: (accountId: string, workflowId: string): ListSpec => ({
    path: `${paths.workflow(accountId, workflowId)}/versions`,
    orderBy: [['version', 'desc']],
    limit: 50,
  }),

  /** A page of a run's steps in the order of their creation: a container always comes before what is in it. */
  steps: (accountId: string, runId: string, after: { readonly createdAt: number; readonly key: string } | undefined): ListSpec => ({
    path: paths.steps(accountId, runId),
    orderBy: [
      ['createdAt', 'asc'],
      [ID_FIELD, 'asc'],
    ],
    ...(after === undefined ? {} : { startAfter: [after.createdAt, after.key] }),
    // The first page is small, so that there is something to look at soon.
    limit: after === undefined ? pageSize.firstSteps : pageSize.steps,
  }),

  /** What is going on now, wherever in the run it is. */
  liveSteps: (accountId: string, runId: string): ListSpec => ({
    path: paths.steps(accountId, runId),
    where: [['state', 'in', [...liveStepStates]]],
    limit: 30,
  }),

  failedSteps: (accountId: string, runId: string): ListSpec => ({
    path: paths.steps(accountId, runId),
    where: [['state', 'in', ['failed', 'unresolved']]],
    limit: 100,
  }),

  history: (accountId: string, runId: string): ListSpec => ({
    path: paths.historyOf(accountId, runId),
    orderBy: [['n', 'desc']],
    limit: 100,
  }),

  commands: (accountId: string, runId: string): ListSpec => ({
    path: paths.commands(accountId, runId),
    orderBy: [['at', 'desc']],
    limit: 20,
  }),

  /** The steps that were there when a question was asked, the latest first. */
  stepsBefore: (accountId: string, runId: string, at: number): ListSpec => ({
    path: paths.steps(accountId, runId),
    where: [['createdAt', '<=', at]],
    orderBy: [['createdAt', 'desc']],
    limit: 12,
  }),

  openAlerts: (accountId: string): ListSpec => ({
    path: paths.alerts(accountId),
    where: [['state', '==', 'open']],
    orderBy: [['openedAt', 'desc']],
    limit: 50,
  }),

  openExceptions: (accountId: string): ListSpec => ({
    path: `${paths.account(accountId)}/exceptions`,
    where: [['state', '==', 'open']],
    orderBy: [['openedAt', 'desc']],
    limit: 50,
  }),

  /** Effects of which nobody knows whether they happened. */
  unknownEffects: (accountId: string): ListSpec => ({
    path: `${paths.account(accountId)}/effects`,
    where: [['state', '==', 'unknown']],
    limit: 50,
  }),

  outbox: (accountId: string, state: string | undefined): ListSpec => ({
    path: `${paths.account(accountId)}/outbox`,
    ...(state === undefined ? {} : { where: [['state', '==', state] as const] }),
    orderBy: [['createdAt', 'desc']],
    limit: 50,
  }),

  hooks: (accountId: string): ListSpec => ({ path: `${paths.account(accountId)}/hooks`, limit: 100 }),

  schedules: (accountId: string): ListSpec => ({ path: `${paths.account(accountId)}/schedules`, limit: 100 }),

  mcpServers: (accountId: string): ListSpec => ({ path: paths.mcpServers(accountId), limit: 100 }),

  /** What people made of the answers of models, the latest first. */
  corrections: (accountId: string): ListSpec => ({
    path: `${paths.account(accountId)}/corrections`,
    orderBy: [['at', 'desc']],
    limit: 100,
  }),

  jobs: (accountId: string): ListSpec => ({
    path: `${paths.account(accountId)}/jobs`,
    orderBy: [['createdAt', 'desc']],
    limit: 20,
  }),

  recipes: (accountId: string): ListSpec => ({ path: `${paths.account(accountId)}/recipes`, limit: 100 }),

  knowledge: (accountId: string): ListSpec => ({ path: `${paths.account(accountId)}/kb`, orderBy: [['updatedAt', 'desc']], limit: 50 }),

  audit: (accountId: string): ListSpec => ({ path: paths.audit(accountId), orderBy: [['n', 'desc']], limit: 100 }),

  /** A page of the audit log from its beginning, for saving it whole. */
  auditFrom: (accountId: string, after: number): ListSpec => ({
    path: paths.audit(accountId),
    where: [['n', '>', after]],
    orderBy: [['n', 'asc']],
    limit: pageSize.audit,
  }),

  rollups: (accountId: string, days: number): ListSpec => ({
    path: `${paths.account(accountId)}/rollups`,
    orderBy: [['day', 'desc']],
    limit: days,
  }),

  notifications: (accountId: string, uid: string): ListSpec => ({
    path: `${paths.account(accountId)}/notifications`,
    where: [['to', '==', uid]],
    orderBy: [['createdAt', 'desc']],
    limit: pageSize.notifications,
  }),
} as const;
