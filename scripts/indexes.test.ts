import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { startBulk } from '../functions/src/ledger/bulk.ts';
import { startErasure } from '../functions/src/ledger/erasure.ts';
import { exportRun } from '../functions/src/ledger/erase-run.ts';
import { searchRuns } from '../functions/src/ledger/run-search.ts';
import type { Query } from '../functions/src/ledger/store.ts';
import { paths } from '../functions/src/model/paths.ts';
import { operationFollowers } from '../functions/src/runner/followers.ts';
import { openExceptions, openRuns, renderMetrics } from '../functions/src/telemetry/prometheus.ts';
import { ACCOUNT, member, Operations } from '../functions/src/testing/operations.testing.ts';
import { auditedRuns } from '../functions/src/timers/audit.ts';
import type { ListSpec } from '../web/src/data/list-spec.ts';
import { queries as appQueries } from '../web/src/data/queries.ts';
import { isServed, shapeOf } from './index-shapes.ts';
import type { Indexes, Shape } from './index-shapes.ts';

/**
 * The emulator answers any query; production refuses one without its index, and the first to notice would be a user. So every
 * query that the engine makes in a broad scenario, and every query of the app, is held against `firestore.indexes.json`.
 */
const root = fileURLToPath(new URL('..', import.meta.url));
const indexes = JSON.parse(readFileSync(`${root}/firestore.indexes.json`, 'utf8')) as Indexes;
const made = new Map<string, Shape>();

function note(query: Query): void {
  const shape = shapeOf(query);
  made.set(JSON.stringify(shape), shape);
}

beforeAll(async () => {
  const ops = new Operations({
    followers: operationFollowers,
    hooks: { before: (operation) => Promise.resolve(operation.kind === 'query' ? note(operation.query) : undefined) },
  });
  await ops.hire(member('ann', ['approver']), member('op', ['operator']), member('gone', ['viewer'], { active: false }));
  const waits = [
    { id: 'e', type: 'wait', event: { name: 'paid', key: 'k' } },
    { id: 'any', type: 'wait', event: { name: 'paid' } },
  ];
  const fan = {
    id: 'fan',
    type: 'parallel',
    policy: 'any',
    branches: {
      a: [{ id: 'a', type: 'approval', title: 'Sure?', approvers: { users: ['ann'] } }],
      b: [{ id: 'b', type: 'wait', for: '1m' }],
    },
  };
  await ops.publish('wf', { attributes: { c: 'x' }, states: { initial: 'new', transitions: { new: [] } }, steps: [fan, ...waits] });
  const run = await ops.start('wf');
  await ops.host.advance(120_000);
  await ops.command(run, 'pause');
  await ops.command(run, 'resume');
  await ops.command(run, 'override_wait', { stepKey: 'e', argument: { payload: 1 } });
  await ops.command(run, 'cancel');
  await ops.command(run, 'fork', { stepKey: 'e' });
  const { store } = ops.runtime;
  for (const filter of [
    {},
    { workflowId: 'wf' },
    { status: 'cancelled' as const },
    { businessState: 'new', businessKey: 'k' },
    { attribute: { name: 'c', value: 'x' }, workflowId: 'wf', from: 0 },
  ])
    await searchRuns(store, ACCOUNT, filter);
  await startBulk(ops.runtime, ACCOUNT, 'op', { filter: { workflowId: 'wf' }, command: 'cancel', reason: 'r' });
  await startErasure(ops.runtime, ACCOUNT, 'op', { uid: 'gone', email: 'x@y', businessKey: 'k', attribute: { name: 'c', value: 'x' } });
  await exportRun(store, { accountId: ACCOUNT, runId: run });
  await renderMetrics(store, ops.host.now);
  for (let i = 0; i < 8; i += 1) {
    await ops.host.advance(600_000);
    await ops.reconcile();
  }
  await ops.host.store.commit([
    { op: 'set', path: paths.setting(ACCOUNT, 'retention'), data: { v: 1, payloadDays: 1, runDays: 1, auditDays: 1, exportFirst: false } },
  ]);
  for (let i = 0; i < 6; i += 1) {
    await ops.host.advance(24 * 3_600_000);
    await ops.reconcile();
  }
});

describe('every query has its index', () => {
  test('those that the engine makes', () => {
    expect(made.size).toBeGreaterThan(25);
    const missing = [...made.values()].filter((shape) => !isServed(shape, indexes));
    expect(missing).toEqual([]);
  });

  test('those that one has to know of', () => {
    const others: Query[] = [
      openRuns,
      openExceptions,
      auditedRuns(0, 1),
      // The journal of a code run, and its steps that wait for their turn.
      { from: paths.steps('a', 'r'), where: [], orderBy: [['seq', 'desc']], limit: 5 },
      { from: paths.steps('a', 'r'), where: [['turn', '==', true]], limit: 5 },
      { from: paths.approvals('a'), where: [['runId', '==', 'r']], limit: 5 },
      // What a member who is dismissed leaves open.
      {
        from: paths.approvals('a'),
        where: [
          ['status', '==', 'pending'],
          ['eligible', 'array-contains', 'u'],
        ],
        limit: 5,
      },
    ];
    expect(others.map(shapeOf).filter((shape) => !isServed(shape, indexes))).toEqual([]);
  });

  test('those of the app, whatever it is asked for', () => {
    const filters = [
      {},
      { status: 'waiting' },
      { status: 'failed', workflow: 'wf', state: 's', key: 'k', from: 1, until: 2 },
      { status: 'waiting', workflow: 'wf' },
      { key: 'k' },
    ] as const;
    const run = { accountId: 'a', runId: 'r', createdAt: 1 };
    const app: Readonly<Record<keyof typeof appQueries, readonly ListSpec[]>> = {
      runs: filters.map((filter) => appQueries.runs('a', filter)),
      memberships: [appQueries.memberships('u')],
      members: [appQueries.members('a')],
      inbox: [appQueries.inbox('a', 'u')],
      decided: [appQueries.decided('a', 'u')],
      decisions: [appQueries.decisions('a', 'x')],
      verdicts: [appQueries.verdicts('a', 'x')],
      neighbour: [appQueries.neighbour(run, 'older'), appQueries.neighbour(run, 'newer')],
      workflows: [appQueries.workflows('a')],
      versions: [appQueries.versions('a', 'w')],
      steps: [appQueries.steps('a', 'r', undefined), appQueries.steps('a', 'r', { createdAt: 1, key: 'k' })],
      liveSteps: [appQueries.liveSteps('a', 'r')],
      failedSteps: [appQueries.failedSteps('a', 'r')],
      history: [appQueries.history('a', 'r')],
      commands: [appQueries.commands('a', 'r')],
      stepsBefore: [appQueries.stepsBefore('a', 'r', 1)],
      openAlerts: [appQueries.openAlerts('a')],
      openExceptions: [appQueries.openExceptions('a')],
      outbox: [appQueries.outbox('a', 'failed'), appQueries.outbox('a', undefined)],
      knowledge: [appQueries.knowledge('a')],
      audit: [appQueries.audit('a')],
      notifications: [appQueries.notifications('a', 'u')],
      unknownEffects: [appQueries.unknownEffects('a')],
      hooks: [appQueries.hooks('a')],
      mcpServers: [appQueries.mcpServers('a')],
      corrections: [appQueries.corrections('a')],
      schedules: [appQueries.schedules('a')],
      jobs: [appQueries.jobs('a')],
      recipes: [appQueries.recipes('a')],
      auditFrom: [appQueries.auditFrom('a', 1)],
      rollups: [appQueries.rollups('a', 30)],
    };
    expect(Object.keys(app).sort()).toEqual(Object.keys(appQueries).sort());
    const found = Object.values(app)
      .flat()
      .map(({ path, group, where = [], orderBy = [], limit }) =>
        shapeOf({ from: group === true ? { group: path } : path, where: where as Query['where'], orderBy, limit }),
      );
    expect(found.filter((shape) => !isServed(shape, indexes))).toEqual([]);
  });

  test('the check itself knows a missing index', () => {
    const shape = shapeOf({ from: paths.runs('a'), where: [['kind', '==', 'code']], orderBy: [['createdAt', 'desc']], limit: 1 });
    expect(isServed(shape, indexes)).toBe(false);
    expect(isServed(shapeOf({ from: { group: 'steps' }, where: [['state', '==', 'x']], limit: 1 }), indexes)).toBe(false);
    expect(isServed(shapeOf({ from: paths.steps('a', 'r'), where: [], orderBy: [['wakeAt', 'asc']], limit: 1 }), indexes)).toBe(false);
  });
});

/** Files that query, with how often: whoever adds a query sees to its index, and to this table. */
const callSites: Readonly<Record<string, number>> = {
  'durable/code-planner.ts': 1,
  'durable/run-reader.ts': 1,
  // The team's own collections: their indexes are theirs.
  'durable/step-transaction.ts': 1,
  'durable/turns.ts': 1,
  'ledger/alerts.ts': 1,
  'ledger/approval-reading.ts': 1,
  'ledger/bulk.ts': 1,
  // Hands queries on.
  'ledger/clock.ts': 2,
  'ledger/commands/gate.ts': 1,
  'ledger/compensation.ts': 1,
  'ledger/end-run.ts': 2,
  'ledger/erase-run.ts': 5,
  'ledger/erasure.ts': 3,
  'ledger/events.ts': 2,
  'ledger/history.ts': 1,
  'ledger/mcp-servers.ts': 1,
  'ledger/members.ts': 2,
  'ledger/memory-store.ts': 1,
  'ledger/recipes.ts': 1,
  'ledger/run-search.ts': 1,
  'telemetry/metrics.ts': 1,
  'telemetry/prometheus.ts': 3,
  'telemetry/traced-store.ts': 2,
  'telemetry/usage.ts': 2,
  'timers/audit.ts': 2,
  'timers/reconciler.ts': 1,
  'triggers/operating.ts': 1,
};

test('no query has been added without a thought for its index', () => {
  const found: Record<string, number> = {};
  const source = `${root}/functions/src`;
  for (const file of readdirSync(source, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || /\.test\.ts$|\.testing\.ts$|^testing\//.test(file)) continue;
    const text = readFileSync(`${source}/${file}`, 'utf8');
    const times = [...text.matchAll(/\.query\(/g)].length;
    if (times > 0) found[file] = times;
  }
  expect(found).toEqual(callSites);
});
