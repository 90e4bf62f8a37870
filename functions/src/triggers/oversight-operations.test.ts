import { beforeEach, describe, expect, test } from 'vitest';
import { appendAudit, entryId } from '../ledger/history.ts';
import type { Role } from '../model/member.ts';
import { paths } from '../model/paths.ts';
import type { ExceptionRecord } from '../model/reconciliation.ts';
import { person } from '../testing/person.ts';
import { createTestKit } from '../testing/test-kit.ts';
import type { TestKit } from '../testing/test-kit.ts';
import { handleCall } from './api.ts';

const business: ExceptionRecord = {
  v: 1,
  accountId: 'test',
  id: 'r1',
  kind: 'business',
  runId: 'r1',
  workflowId: 'wf',
  code: 'account.closed',
  text: 'The account is closed.',
  state: 'open',
  openedAt: 0,
};

let kit: TestKit;
beforeEach(() => {
  kit = createTestKit({
    members: (['viewer', 'author', 'operator', 'admin'] as const).map((role) => person(role, { roles: [role] }, 'test')),
  });
});

function call(role: Role, op: string, data: object = {}): Promise<unknown> {
  return handleCall(kit.runtime, { auth: { uid: role }, data: { op, accountId: 'test', ...data } } as never);
}

describe('oversight', () => {
  test('health says when the reconciler last came by, and nothing about the runs of others', async () => {
    expect(await call('operator', 'health')).toBeNull();
    await kit.setDocument(paths.reconciler, { v: 1, at: 7, repaired: 2, failed: 0, behind: false, auditedAt: 5, auditCursor: 123 });
    expect(await call('operator', 'health')).toEqual({ at: 7, repaired: 2, failed: 0, behind: false, auditedAt: 5 });
    await expect(call('viewer', 'health')).rejects.toMatchObject({ code: 'permission-denied' });
  });

  test('a business exception is settled once, with a reason; a difference by its commands', async () => {
    await kit.setDocument(paths.exception('test', 'r1'), { ...business });
    await kit.setDocument(paths.exception('test', 'r2'), { ...business, id: 'r2', kind: 'mismatch' });
    const settled = { id: 'r1', state: 'fixed', reason: 'paid by hand' };
    await expect(call('author', 'settleException', settled)).rejects.toMatchObject({ code: 'permission-denied' });
    await call('operator', 'settleException', settled);
    expect(kit.document(paths.exception('test', 'r1'))).toMatchObject({ state: 'fixed', by: 'operator' });
    expect(kit.document(`${paths.audit('test')}/${entryId(1)}`)).toMatchObject({ kind: 'exception_settled', by: 'operator' });
    await expect(call('operator', 'settleException', settled)).rejects.toMatchObject({
      message: expect.stringContaining('already') as string,
    });
    for (const id of ['r2', 'r3'])
      await expect(call('operator', 'settleException', { ...settled, id })).rejects.toMatchObject({ code: 'invalid-argument' });
  });

  test('the audit log is checked from end to end', async () => {
    await kit.host.store.transaction(async (tx) => {
      const happenings = ['one', 'two'].map((text) => ({ kind: 'test', by: 'admin', text }));
      for (const write of await appendAudit(tx, 'test', happenings, 1)) tx.write(write);
    });
    expect(await call('admin', 'verifyAudit')).toMatchObject({ ok: true, entries: 2 });
    await expect(call('operator', 'verifyAudit')).rejects.toMatchObject({ code: 'permission-denied' });
    const path = `${paths.audit('test')}/${entryId(2)}`;
    await kit.setDocument(path, { ...kit.document(path), text: 'three' });
    expect(await call('admin', 'verifyAudit')).toMatchObject({ ok: false, n: 2 });
    expect(await call('operator', 'verifyHistory', { runId: 'none' })).toMatchObject({ ok: true, entries: 0 });
  });
});
