import { beforeEach, describe, expect, test } from 'vitest';
import { effectId } from '../ledger/effects.ts';
import { StoredRecipes } from '../ledger/recipes.ts';
import { effectRecordSchema } from '../model/effect.ts';
import type { EffectRecord } from '../model/effect.ts';
import type { Role } from '../model/member.ts';
import { readHistory, verifyHistory } from '../ledger/history.ts';
import { paths } from '../model/paths.ts';
import { createGuard } from '../services/http/guard.ts';
import { createHttpClient } from '../services/http/client.ts';
import { person } from '../testing/person.ts';
import { createTestKit } from '../testing/test-kit.ts';
import type { TestKit } from '../testing/test-kit.ts';
import { handleCall } from './api.ts';

let kit: TestKit;
beforeEach(() => {
  const guard = createGuard();
  kit = createTestKit({
    definitions: { nightly: [{ id: 'x', type: 'transform', value: 1 }] },
    members: (['viewer', 'author', 'operator', 'admin'] as const).map((role) => person(role, { roles: [role] }, 'test')),
    services: {
      http: { ...createHttpClient(guard), check: (url) => guard.check(url) },
      recipes: {
        latest: (accountId, id) => new StoredRecipes(kit.host.store).latest(accountId, id),
        version: (accountId, id, version) => new StoredRecipes(kit.host.store).version(accountId, id, version),
      },
    },
  });
});

function call(role: Role, op: string, data: object = {}): Promise<unknown> {
  return handleCall(kit.runtime, { auth: { uid: role }, data: { op, accountId: 'test', ...data } } as never);
}

describe('operations', () => {
  test('recipes are published by authors, and read by all who look at runs', async () => {
    const recipe = { id: 'sum', prompt: 'Sum up {{input.text}}' };
    expect(await call('author', 'recipes.publish', { recipe })).toMatchObject({ version: 1, created: true });
    expect(await call('viewer', 'recipes.list')).toMatchObject([{ recipeId: 'sum', latest: 1 }]);
    expect(await call('viewer', 'recipes.get', { id: 'sum' })).toEqual({ version: 1, recipe });
    await expect(call('operator', 'recipes.publish', { recipe })).rejects.toMatchObject({ code: 'permission-denied' });
  });

  test('servers, tools, hooks and limits are an admin’s', async () => {
    for (const op of ['mcp.put', 'mcp.approve', 'mcp.delete', 'hooks.put', 'hooks.delete', 'limits.put']) {
      await expect(call('author', op)).rejects.toMatchObject({ code: 'permission-denied' });
    }
    await call('admin', 'limits.put', { limits: { llm: 3, crm: 1 } });
    expect(kit.document(paths.account('test'))).toMatchObject({ limits: { llm: 3, crm: 1 } });
    await expect(call('admin', 'limits.put', { limits: { 'no name': 3 } })).rejects.toMatchObject({ code: 'invalid-argument' });
  });

  test('what an admin changes stands in the audit, with who did it', async () => {
    await call('admin', 'mcp.put', { serverId: 'browser', url: 'https://tools.example.com/mcp' });
    await call('admin', 'mcp.approve', { serverId: 'browser', tools: { open: 'a'.repeat(64) } });
    await call('admin', 'mcp.delete', { serverId: 'browser' });
    await call('admin', 'limits.put', { limits: { llm: 4 } });
    await call('operator', 'schedules.put', { scheduleId: 'night', workflowId: 'nightly', cron: '0 3 * * *', timeZone: 'UTC' });
    await call('operator', 'schedules.delete', { scheduleId: 'night' });
    const audit = await readHistory(kit.runtime.store, paths.audit('test'));
    expect(verifyHistory(audit).ok).toBe(true);
    expect(audit.map((entry) => [entry['kind'], entry['by']]).slice(-6)).toEqual([
      ['tool_server_set', 'admin'],
      ['tools_approved', 'admin'],
      ['tool_server_deleted', 'admin'],
      ['limits_set', 'admin'],
      ['schedule_set', 'operator'],
      ['schedule_deleted', 'operator'],
    ]);
  });

  test('X6 an inner address is refused when it is saved: in steps, destinations and servers', async () => {
    const step = { id: 'call', type: 'http', url: 'https://169.254.169.254/latest/meta-data' };
    await expect(call('author', 'publish', { definition: { id: 'wf', steps: [step] } })).rejects.toMatchObject({
      message: expect.stringContaining('steps[0].url') as string,
    });
    const destinations = [{ type: 'webhook', url: 'https://metadata.google.internal/' }];
    const quiet = { id: 'x', type: 'transform', value: 1 };
    await expect(call('author', 'publish', { definition: { id: 'wf', steps: [quiet], destinations } })).rejects.toMatchObject({
      message: expect.stringContaining('destinations[0].url') as string,
    });
    await expect(call('admin', 'mcp.put', { serverId: 's', url: 'https://10.0.0.1/mcp' })).rejects.toMatchObject({
      details: { code: 'http.blocked_address' },
    });
    expect(await call('author', 'preflight', { definition: { id: 'wf', steps: [step] } })).toMatchObject({
      problems: [{ code: 'http.blocked_address' }],
    });
  });

  test('an effect that nobody knows about is settled by an operator, once, and it is written down', async () => {
    const record: EffectRecord = {
      v: 1,
      accountId: 'test',
      key: 'payment:R1',
      state: 'unknown',
      runId: 'r',
      stepKey: 'pay',
      attempt: 1,
      request: 'x',
      prevented: 0,
      claimedAt: 0,
    };
    const id = effectId(record.key);
    const path = paths.effect('test', id);
    await kit.setDocument(path, { ...record });
    await expect(call('author', 'effects.settle', { id, happened: true, reason: 'x' })).rejects.toMatchObject({
      code: 'permission-denied',
    });
    await call('operator', 'effects.settle', { id, happened: true, result: { payment: 'P1' }, reason: 'seen on the bank statement' });
    expect(effectRecordSchema.parse(kit.document(path))).toMatchObject({ state: 'settled', result: { json: '{"payment":"P1"}' } });
    await expect(call('operator', 'effects.settle', { id, happened: false, reason: 'x' })).rejects.toMatchObject({
      code: 'invalid-argument',
    });
    const audit = [...kit.host.store.all()].filter((doc) => doc.path.startsWith('accounts/test/audit/'));
    expect(audit.map(({ data }) => data)).toContainEqual(
      expect.objectContaining({ kind: 'effect_settled', by: 'operator', text: '"payment:R1" happened: seen on the bank statement' }),
    );
    await kit.setDocument(path, { ...record });
    await call('operator', 'effects.settle', { id, happened: false, reason: 'not there' });
    expect(kit.document(path)).toBeUndefined();
  });
});
