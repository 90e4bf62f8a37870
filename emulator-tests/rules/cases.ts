import type { Case } from './case.ts';
import { fromNow } from './client.ts';
import type { Doc } from './client.ts';
import { commands, decisions, events, requests } from './creations.ts';
import { created, everybody, members, NOW, operators, starters } from './world.ts';
import type { Who } from './world.ts';

interface Collection {
  /** Below an account. */
  readonly path: string;
  readonly id: string;
  readonly get: readonly Who[];
  readonly list: readonly Who[];
  /** The largest list. */
  readonly limit: number;
}

const nobody: readonly Who[] = [];
const admins: readonly Who[] = ['admin'];
const readers = (path: string, id: string, who: readonly Who[], limit = 100): Collection => ({ path, id, get: who, list: who, limit });

/** Who may read what. Nobody writes anything here, except by the creations further down. */
const collections: readonly Collection[] = [
  { ...readers('members', 'starter', members, 500) },
  readers('workflows', 'w', members),
  readers('workflows/w/versions', '1', members),
  readers('recipes', 'p', members),
  readers('recipes/p/versions', '1', members),
  readers('kb', 'k', members),
  readers('kbChunks', 'k', nobody),
  readers('schedules', 's', members),
  readers('hooks', 'h', starters),
  readers('mcpServers', 'm', starters),
  readers('alerts', 'a', members),
  readers('reconciliations', 'r1', members),
  readers('exceptions', 'x', members),
  readers('watches', 'w', members),
  readers('rollups', 'd', members),
  readers('limits', 'l', nobody),
  readers('limits/l/slots', '1', nobody),
  readers('waits', 'w', members),
  readers('outbox', 'o', operators),
  readers('jobs', 'j', operators),
  readers('effects', 'e', operators),
  readers('corrections', 'open', operators),
  readers('audit', '000000001', admins, 500),
  readers('completions', 'r1', nobody),
  readers('startKeys', 'k', nobody),
  readers('requests', 'q', starters),
  readers('events', 'e', starters),
  readers('runs', 'r1', members),
  readers('runs/r1/steps', 's', members, 300),
  readers('runs/r1/states', '1', members),
  { path: 'runs/r1/trace', id: 'tree', get: members, list: nobody, limit: 100 },
  { path: 'settings', id: 'retention', get: admins, list: nobody, limit: 100 },
  readers('metrics', 'd', nobody),
  readers('expiries', 'r1', nobody),
  readers('runs/r1/marks', 'metrics', nobody),
  readers('runs/r1/history', '000000001', members, 500),
  readers('runs/r1/journal', '1', operators),
  readers('runs/r1/joins', 'j', nobody),
  readers('runs/r1/consumed', 'e', nobody),
  readers('runs/r1/answers', 'a', nobody),
  readers('runs/r1/commands', 'c', members),
  { path: 'runs/r1/payloads', id: 'plain', get: members, list: nobody, limit: 100 },
  { path: 'runs/r1/payloads', id: 'marked', get: members, list: nobody, limit: 100 },
  { path: 'runs/r1/payloads', id: 'secret', get: operators, list: nobody, limit: 100 },
  { path: 'runs/r1/payloads', id: 'shown', get: [...operators, 'approver'], list: nobody, limit: 100 },
  readers('approvals', 'open', members),
  readers('approvals/open/decisions', 'unasked', members, 500),
  readers('approvals/open/verdicts', 'unasked', members, 500),
  readers('approvals/secret/decisions', 'unasked', [...operators, 'approver'], 500),
  readers('approvals/secret/verdicts', 'unasked', [...operators, 'approver'], 500),
  { path: 'notifications', id: 'n', get: ['viewer'], list: nobody, limit: 100 },
  { path: 'notifications', id: 'g', get: nobody, list: nobody, limit: 100 },
];

function* reads(): Iterable<Case> {
  for (const { path, id, get, list, limit } of collections) {
    const collection = `accounts/acme/${path}`;
    for (const as of everybody) {
      yield {
        name: `${String(as)} gets ${path}/${id}`,
        as,
        request: { verb: 'get', path: `${collection}/${id}` },
        allow: get.includes(as),
      };
      yield {
        name: `${String(as)} lists ${path}`,
        as,
        request: { verb: 'list', path: collection, query: { limit } },
        allow: list.includes(as),
      };
    }
    yield {
      name: `too long a list of ${path}`,
      as: 'admin',
      request: { verb: 'list', path: collection, query: { limit: limit + 1 } },
      allow: false,
    };
    yield { name: `an endless list of ${path}`, as: 'admin', request: { verb: 'list', path: collection, query: {} }, allow: false };
  }
}

/** Nobody changes what the engine keeps, whatever the role; and nobody creates it. */
function* writes(): Iterable<Case> {
  const kept = [...new Set(collections.map(({ path, id }) => `accounts/acme/${path}/${id}`)), 'accounts/acme', 'system/control'];
  for (const path of kept) {
    for (const as of everybody) {
      yield { name: `${String(as)} updates ${path}`, as, request: { verb: 'update', path, doc: { v: 2 } }, allow: false };
      yield { name: `${String(as)} deletes ${path}`, as, request: { verb: 'delete', path }, allow: false };
    }
    const beside = path.replace(/[^/]+$/, 'fresh');
    for (const as of ['admin', 'approver', 'stranger']) {
      yield {
        name: `${as} creates ${beside}`,
        as,
        request: { verb: 'create', path: beside, doc: { v: 1, to: as, by: as, uid: as } },
        allow: false,
      };
    }
  }
}

/** What is said is said: its maker cannot say it anew, though it would be valid. */
function* again(): Iterable<Case> {
  for (const [path, { by, doc }] of Object.entries(created)) {
    yield { name: `${by} writes ${path} once more`, as: by, request: { verb: 'update', path, doc }, allow: false };
    yield { name: `${by} takes ${path} back`, as: by, request: { verb: 'delete', path }, allow: false };
  }
}

function* elsewhere(): Iterable<Case> {
  yield {
    name: 'a member does not make the account itself',
    as: 'admin',
    request: { verb: 'create', path: 'accounts/bare', doc: { v: 1 } },
    allow: false,
  };
  for (const as of everybody) {
    yield { name: `${String(as)} gets the account`, as, request: { verb: 'get', path: 'accounts/acme' }, allow: members.includes(as) };
    yield { name: `${String(as)} lists accounts`, as, request: { verb: 'list', path: 'accounts', query: { limit: 1 } }, allow: false };
    yield { name: `${String(as)} gets the switch`, as, request: { verb: 'get', path: 'system/control' }, allow: false };
    yield { name: `${String(as)} gets something unknown`, as, request: { verb: 'get', path: 'accounts/acme/unknown/x' }, allow: false };
    if (as === 'foreigner') continue;
    for (const path of [
      'accounts/other',
      'accounts/other/runs/r1',
      'accounts/other/runs/r1/steps/s',
      'accounts/other/approvals/open',
      'accounts/other/members/foreigner',
    ]) {
      yield { name: `${String(as)} gets ${path}`, as, request: { verb: 'get', path }, allow: false };
    }
    yield {
      name: `${String(as)} lists foreign runs`,
      as,
      request: { verb: 'list', path: 'accounts/other/runs', query: { limit: 1 } },
      allow: false,
    };
  }
  yield {
    name: 'a dismissed member still sees the own membership',
    as: 'gone',
    request: { verb: 'get', path: 'accounts/acme/members/gone' },
    allow: true,
  };
  yield { name: 'nobody sees it without a sign-in', as: null, request: { verb: 'get', path: 'accounts/acme/members/gone' }, allow: false };
  for (const as of ['viewer', 'gone', 'stranger'] as const) {
    const mine = { where: [['uid', as]], group: true } as const;
    yield {
      name: `${as} finds the own memberships`,
      as,
      request: { verb: 'list', path: 'members', query: { ...mine, limit: 100 } },
      allow: true,
    };
    yield {
      name: `${as} finds at most a hundred`,
      as,
      request: { verb: 'list', path: 'members', query: { ...mine, limit: 101 } },
      allow: false,
    };
    yield {
      name: `${as} does not find everybody’s`,
      as,
      request: { verb: 'list', path: 'members', query: { group: true, limit: 10 } },
      allow: false,
    };
    yield {
      name: `${as} does not find another’s`,
      as,
      request: { verb: 'list', path: 'members', query: { group: true, limit: 10, where: [['uid', 'admin']] } },
      allow: false,
    };
  }
}

function* notifications(): Iterable<Case> {
  const path = 'accounts/acme/notifications';
  const own = (as: string, limit?: number) =>
    ({ verb: 'list', path, query: { where: [['to', as]], ...(limit === undefined ? {} : { limit }) } }) as const;
  yield { name: 'viewer lists the own notifications', as: 'viewer', request: own('viewer', 100), allow: true };
  yield { name: 'viewer lists too many', as: 'viewer', request: own('viewer', 101), allow: false };
  yield { name: 'viewer lists without end', as: 'viewer', request: own('viewer'), allow: false };
  yield { name: 'viewer lists another’s', as: 'viewer', request: own('admin', 10), allow: false };
  yield { name: 'a dismissed member lists none', as: 'gone', request: own('gone', 10), allow: false };
  const update = (as: string, id: string, doc: Doc, allow: boolean): Case => ({
    name: `${as} updates notification ${id} with ${JSON.stringify(doc)}`,
    as,
    request: { verb: 'update', path: `${path}/${id}`, doc },
    allow,
  });
  yield update('viewer', 'n', { readAt: fromNow(0) }, true);
  yield update('viewer', 'n', { readAt: 'now' }, false);
  yield update('viewer', 'n', { readAt: NOW, title: 'other' }, false);
  yield update('viewer', 'n', { to: 'admin' }, false);
  yield update('viewer', 'n', { readAt: fromNow(0), forged: true }, false);
  yield update('viewer', 'm', { readAt: NOW }, false);
  yield update('admin', 'n', { readAt: NOW }, false);
  yield update('gone', 'g', { readAt: NOW }, false);
  yield update('stranger', 'n', { readAt: NOW }, false);
}

export const cases: readonly Case[] = [
  ...decisions(),
  ...commands(),
  ...requests(),
  ...events(),
  ...notifications(),
  ...again(),
  ...elsewhere(),
  ...reads(),
  ...writes(),
];
