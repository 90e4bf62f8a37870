/** Document paths. The account is always taken from the path, never from a payload. */

export const idPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;
export const stepIdPattern = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

const account = (accountId: string): string => `accounts/${accountId}`;
const run = (accountId: string, runId: string): string => `${account(accountId)}/runs/${runId}`;

export const paths = {
  control: 'system/control',
  reconciler: 'system/reconciler',
  account,
  member: (accountId: string, uid: string): string => `${account(accountId)}/members/${uid}`,
  members: (accountId: string): string => `${account(accountId)}/members`,
  workflow: (accountId: string, workflowId: string): string => `${account(accountId)}/workflows/${workflowId}`,
  version: (accountId: string, workflowId: string, version: number): string =>
    `${account(accountId)}/workflows/${workflowId}/versions/${version}`,
  runs: (accountId: string): string => `${account(accountId)}/runs`,
  run,
  steps: (accountId: string, runId: string): string => `${run(accountId, runId)}/steps`,
  step: (accountId: string, runId: string, key: string): string => `${run(accountId, runId)}/steps/${key}`,
  payload: (accountId: string, runId: string, id: string): string => `${run(accountId, runId)}/payloads/${id}`,
  join: (accountId: string, runId: string, node: string): string => `${run(accountId, runId)}/joins/${node}`,
  journal: (accountId: string, runId: string, id: string): string => `${run(accountId, runId)}/journal/${id}`,
  consumed: (accountId: string, runId: string, eventId: string): string => `${run(accountId, runId)}/consumed/${eventId}`,
  commands: (accountId: string, runId: string): string => `${run(accountId, runId)}/commands`,
  command: (accountId: string, runId: string, id: string): string => `${run(accountId, runId)}/commands/${id}`,
  history: (accountId: string, runId: string, id: string): string => `${run(accountId, runId)}/history/${id}`,
  historyOf: (accountId: string, runId: string): string => `${run(accountId, runId)}/history`,
  approvals: (accountId: string): string => `${account(accountId)}/approvals`,
  approval: (accountId: string, id: string): string => `${account(accountId)}/approvals/${id}`,
  decisions: (accountId: string, approvalId: string): string => `${account(accountId)}/approvals/${approvalId}/decisions`,
  decision: (accountId: string, approvalId: string, uid: string): string =>
    `${account(accountId)}/approvals/${approvalId}/decisions/${uid}`,
  verdicts: (accountId: string, approvalId: string): string => `${account(accountId)}/approvals/${approvalId}/verdicts`,
  verdict: (accountId: string, approvalId: string, uid: string): string => `${account(accountId)}/approvals/${approvalId}/verdicts/${uid}`,
  audit: (accountId: string): string => `${account(accountId)}/audit`,
  events: (accountId: string): string => `${account(accountId)}/events`,
  event: (accountId: string, id: string): string => `${account(accountId)}/events/${id}`,
  waits: (accountId: string): string => `${account(accountId)}/waits`,
  wait: (accountId: string, id: string): string => `${account(accountId)}/waits/${id}`,
  completion: (accountId: string, runId: string): string => `${account(accountId)}/completions/${runId}`,
  outbox: (accountId: string, id: string): string => `${account(accountId)}/outbox/${id}`,
  notification: (accountId: string, id: string): string => `${account(accountId)}/notifications/${id}`,
  schedule: (accountId: string, id: string): string => `${account(accountId)}/schedules/${id}`,
  hookWindow: (accountId: string, hookId: string, window: string): string => `${account(accountId)}/hooks/${hookId}/windows/${window}`,
  slots: (accountId: string, limit: string): string => `${account(accountId)}/limits/${limit}/slots`,
  effects: (accountId: string): string => `${account(accountId)}/effects`,
  effect: (accountId: string, key: string): string => `${account(accountId)}/effects/${key}`,
  recipes: (accountId: string): string => `${account(accountId)}/recipes`,
  recipe: (accountId: string, id: string): string => `${account(accountId)}/recipes/${id}`,
  recipeVersion: (accountId: string, id: string, version: number): string => `${account(accountId)}/recipes/${id}/versions/${version}`,
  answer: (accountId: string, runId: string, id: string): string => `${run(accountId, runId)}/answers/${id}`,
  correction: (accountId: string, approvalId: string): string => `${account(accountId)}/corrections/${approvalId}`,
  mcpServers: (accountId: string): string => `${account(accountId)}/mcpServers`,
  mcpServer: (accountId: string, id: string): string => `${account(accountId)}/mcpServers/${id}`,
  hook: (accountId: string, id: string): string => `${account(accountId)}/hooks/${id}`,
  request: (accountId: string, id: string): string => `${account(accountId)}/requests/${id}`,
  alert: (accountId: string, id: string): string => `${account(accountId)}/alerts/${id}`,
  alerts: (accountId: string): string => `${account(accountId)}/alerts`,
  watch: (accountId: string, id: string): string => `${account(accountId)}/watches/${id}`,
  reconciliation: (accountId: string, runId: string): string => `${account(accountId)}/reconciliations/${runId}`,
  exception: (accountId: string, id: string): string => `${account(accountId)}/exceptions/${id}`,
  businessStates: (accountId: string, runId: string): string => `${run(accountId, runId)}/states`,
  job: (accountId: string, id: string): string => `${account(accountId)}/jobs/${id}`,
  setting: (accountId: string, name: string): string => `${account(accountId)}/settings/${name}`,
  expiry: (accountId: string, runId: string): string => `${account(accountId)}/expiries/${runId}`,
  trace: (accountId: string, runId: string): string => `${run(accountId, runId)}/trace/tree`,
  mark: (accountId: string, runId: string, name: string): string => `${run(accountId, runId)}/marks/${name}`,
  metrics: (accountId: string, period: string, shard: number): string => `${account(accountId)}/metrics/${period}~${shard}`,
  rollup: (accountId: string, day: string): string => `${account(accountId)}/rollups/${day}`,
  businessState: (accountId: string, runId: string, id: string): string => `${run(accountId, runId)}/states/${id}`,
  startKey: (accountId: string, key: string): string => `${account(accountId)}/startKeys/${key}`,
} as const;

/** Collections of an account that the engine alone writes. */
export const engineCollections: ReadonlySet<string> = new Set([
  'alerts',
  'approvals',
  'audit',
  'completions',
  'corrections',
  'effects',
  'events',
  'exceptions',
  'expiries',
  'hooks',
  'jobs',
  'kb',
  'kbChunks',
  'limits',
  'mcpServers',
  'members',
  'metrics',
  'notifications',
  'outbox',
  'recipes',
  'reconciliations',
  'requests',
  'rollups',
  'runs',
  'schedules',
  'settings',
  'startKeys',
  'waits',
  'watches',
  'workflows',
]);

export interface StepRef {
  readonly accountId: string;
  readonly runId: string;
  readonly key: string;
}

export interface RunRef {
  readonly accountId: string;
  readonly runId: string;
}
