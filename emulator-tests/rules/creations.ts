import { fromNow, literalTime } from './client.ts';
import type { Doc } from './client.ts';
import type { Case } from './case.ts';
import { command, decision, event, everybody, NOW, operators, payload, request, starters, without } from './world.ts';
import type { Who } from './world.ts';

interface Forgery {
  readonly what: string;
  readonly doc: Doc;
  readonly allow?: boolean;
  readonly at?: string;
  readonly as?: string;
}

function* creations(kind: string, path: string, as: string, forgeries: readonly Forgery[]): Iterable<Case> {
  for (const forgery of forgeries) {
    const allow = forgery.allow ?? false;
    const actor = forgery.as ?? as;
    yield {
      name: `${actor} creates a ${kind}: ${forgery.what}`,
      as: actor,
      request: { verb: 'create', path: forgery.at ?? path, doc: forgery.doc },
      allow,
    };
  }
}

/** What is wrong in every kind of document in the same way. */
function stampForgeries(valid: Doc): readonly Forgery[] {
  return [
    { what: 'of another version', doc: { ...valid, v: 2 } },
    { what: 'for another account', doc: { ...valid, accountId: 'other' } },
    { what: 'in another’s name', doc: { ...valid, by: 'admin2' } },
    { what: 'at a time of one’s own', doc: { ...valid, at: literalTime(NOW - 60_000) } },
    { what: 'at no time', doc: without(valid, 'at') },
    { what: 'hidden from the reconciler', doc: { ...valid, due: '0|9999999999999' } },
    { what: 'without the reconciler’s mark', doc: without(valid, 'due') },
    { what: 'with a field too many', doc: { ...valid, forged: true } },
  ];
}

const long = (length: number): string => 'x'.repeat(length);

export function* decisions(): Iterable<Case> {
  const at = (approval: string, by = 'approver'): string => `accounts/acme/approvals/${approval}/decisions/${by}`;
  const valid = decision('approver');
  const on = (approval: string, by = 'approver', fields: Doc = {}): Omit<Forgery, 'what'> => ({
    doc: decision(by, approval, fields),
    at: at(approval, by),
    as: by,
  });
  yield* creations('decision', at('open'), 'approver', [
    { what: 'valid', doc: valid, allow: true },
    { what: 'with a comment', doc: { ...valid, comment: 'fine' }, allow: true },
    { what: 'a rejection with a comment', doc: { ...valid, outcome: 'reject', comment: 'no' }, allow: true },
    ...stampForgeries(valid),
    { what: 'under another’s path', doc: valid, at: at('open', 'second') },
    { what: 'of another request', doc: { ...valid, approvalId: 'closed' } },
    { what: 'on other content', doc: { ...valid, digest: 'e'.repeat(64) } },
    { what: 'with an outcome that is not offered', doc: { ...valid, outcome: 'partly' } },
    { what: 'a rejection without a comment', doc: { ...valid, outcome: 'reject' } },
    { what: 'a rejection with an empty comment', doc: { ...valid, outcome: 'reject', comment: '   ' } },
    { what: 'a rejection with the shortest comment', doc: { ...valid, outcome: 'reject', comment: 'x' }, allow: true },
    { what: 'with the longest comment', doc: { ...valid, comment: long(4_000) }, allow: true },
    { what: 'with too long a comment', doc: { ...valid, comment: long(4_001) } },
    { what: 'a rejection with the longest comment', doc: { ...valid, outcome: 'reject', comment: long(4_000) }, allow: true },
    { what: 'with a comment that is no text', doc: { ...valid, comment: 7 } },
    { what: 'with corrections where there is no form', doc: { ...valid, values: '{}' } },
    { what: 'with corrections', ...on('form', 'approver', { values: '{}' }), allow: true },
    { what: 'with the shortest corrections', ...on('form', 'approver', { values: '1' }), allow: true },
    { what: 'with the longest corrections', ...on('form', 'approver', { values: long(200_000) }), allow: true },
    { what: 'with corrections that are too long', ...on('form', 'approver', { values: long(200_001) }) },
    { what: 'with corrections that are no text', ...on('form', 'approver', { values: 7 }) },
    { what: 'with empty corrections', ...on('form', 'approver', { values: '' }) },
    { what: 'without corrections where there is a form', ...on('form'), allow: true },
    { what: 'after it was decided', ...on('closed') },
    { what: 'after the deadline', ...on('late') },
    { what: 'on content that changed since', ...on('changed') },
    { what: 'by the starter', ...on('open', 'starter') },
    { what: 'by the starter where that is allowed', ...on('twoeyes', 'starter'), allow: true },
    { what: 'by another approver', ...on('open', 'second'), allow: true },
    { what: 'by a member who was not asked', ...on('open', 'admin') },
    { what: 'of what somebody else has taken on', ...on('taken') },
    { what: 'of what one has taken on', ...on('held'), allow: true },
    { what: 'by a dismissed member who was asked', ...on('alleyes', 'gone') },
    { what: 'by somebody of another account who is named', ...on('alleyes', 'foreigner') },
    { what: 'by a stranger who is named', ...on('alleyes', 'stranger') },
    { what: 'on a request that does not exist', ...on('nowhere') },
    {
      what: 'on a request of another account',
      doc: decision('approver', 'open', { accountId: 'other' }),
      at: 'accounts/other/approvals/open/decisions/approver',
    },
  ]);
  yield { name: 'nobody decides without a sign-in', as: null, request: { verb: 'create', path: at('open'), doc: valid }, allow: false };
}

export function* commands(): Iterable<Case> {
  const path = 'accounts/acme/runs/r1/commands/fresh';
  const valid = command('operator');
  const kinds = [
    'pause',
    'resume',
    'cancel',
    'retry',
    'skip',
    'override_wait',
    'extend_deadline',
    'compensate',
    'resolve',
    'fork',
    'accept_mismatch',
  ];
  yield* creations('command', path, 'operator', [
    ...kinds.map((kind) => ({ what: kind, doc: { ...valid, kind }, allow: true })),
    { what: 'with a step and an argument', doc: { ...valid, stepKey: 'each[1].x', argument: '{}' }, allow: true },
    ...stampForgeries(valid),
    { what: 'of an unknown kind', doc: { ...valid, kind: 'complete' } },
    { what: 'for another run', doc: { ...valid, runId: 'r2' } },
    { what: 'for a run that does not exist', doc: { ...valid, runId: 'r2' }, at: 'accounts/acme/runs/r2/commands/fresh' },
    { what: 'without a reason', doc: { ...valid, reason: '  ' } },
    { what: 'with the shortest texts', doc: { ...valid, reason: 'x', stepKey: 'x', argument: '1' }, allow: true },
    { what: 'with the longest reason', doc: { ...valid, reason: long(2_000) }, allow: true },
    { what: 'with too long a reason', doc: { ...valid, reason: long(2_001) } },
    { what: 'done already', doc: { ...valid, status: 'done' } },
    { what: 'with the longest step key', doc: { ...valid, stepKey: long(1_500) }, allow: true },
    { what: 'with too long a step key', doc: { ...valid, stepKey: long(1_501) } },
    { what: 'with an empty step key', doc: { ...valid, stepKey: '' } },
    { what: 'with a step key that is no text', doc: { ...valid, stepKey: 1 } },
    { what: 'with the longest argument', doc: { ...valid, argument: long(500_000) }, allow: true },
    { what: 'with too long an argument', doc: { ...valid, argument: long(500_001) } },
    { what: 'with an empty argument', doc: { ...valid, argument: '' } },
    { what: 'with an argument that is no text', doc: { ...valid, argument: { a: 1 } } },
    { what: 'with a result of its own', doc: { ...valid, result: 'done' } },
  ]);
  yield* byEverybody('command', path, (by) => command(by), operators);
}

export function* requests(): Iterable<Case> {
  const path = 'accounts/acme/requests/new';
  const valid = request('operator');
  yield* creations('request', path, 'operator', [
    ...stampForgeries(valid),
    { what: 'under another id', doc: { ...valid, id: 'old' } },
    { what: 'with an id that is no id', doc: { ...valid, id: '-new' }, at: 'accounts/acme/requests/-new' },
    { what: 'with the longest id', doc: { ...valid, id: `n${long(127)}` }, at: `accounts/acme/requests/n${long(127)}`, allow: true },
    { what: 'with too long an id', doc: { ...valid, id: `n${long(128)}` }, at: `accounts/acme/requests/n${long(128)}` },
    { what: 'with the shortest texts', doc: { ...valid, id: 'n', input: '1' }, at: 'accounts/acme/requests/n', allow: true },
    { what: 'of no workflow', doc: { ...valid, workflowId: '' } },
    { what: 'of the longest workflow', doc: { ...valid, workflowId: long(128) }, allow: true },
    { what: 'of too long a workflow', doc: { ...valid, workflowId: long(129) } },
    { what: 'with an input that is no text', doc: { ...valid, input: { a: 1 } } },
    { what: 'with an empty input', doc: { ...valid, input: '' } },
    { what: 'with the longest input', doc: { ...valid, input: long(900_000) }, allow: true },
    { what: 'with too long an input', doc: { ...valid, input: long(900_001) } },
    { what: 'started already', doc: { ...valid, status: 'started' } },
    { what: 'with a run of its own', doc: { ...valid, runId: 'r1' } },
  ]);
  yield* byEverybody('request', path, (by) => request(by), starters);
}

export function* events(): Iterable<Case> {
  const path = 'accounts/acme/events/new';
  const valid = event('operator');
  const paid = payload('{"amount":1}');
  const tooLong = payload(long(200_001));
  yield* creations('event', path, 'operator', [
    { what: 'with a key for one run', doc: { ...valid, key: 'k', runId: 'r1' }, allow: true },
    { what: 'with a field too many', doc: { ...valid, forged: true } },
    { what: 'of another version', doc: { ...valid, v: 2 } },
    { what: 'for another account', doc: { ...valid, accountId: 'other' } },
    { what: 'under another id', doc: { ...valid, eventId: 'old' } },
    { what: 'with an id that is no id', doc: { ...valid, eventId: '-new' }, at: 'accounts/acme/events/-new' },
    { what: 'with too long an id', doc: { ...valid, eventId: `n${long(128)}` }, at: `accounts/acme/events/n${long(128)}` },
    { what: 'with the shortest texts', doc: { ...valid, name: 'x', key: 'x', runId: 'x', payload: payload('1') }, allow: true },
    { what: 'without a name', doc: { ...valid, name: '' } },
    { what: 'with the longest name', doc: { ...valid, name: long(200) }, allow: true },
    { what: 'with too long a name', doc: { ...valid, name: long(201) } },
    { what: 'with an empty key', doc: { ...valid, key: '' } },
    { what: 'with the longest key', doc: { ...valid, key: long(500) }, allow: true },
    { what: 'with too long a key', doc: { ...valid, key: long(501) } },
    { what: 'with an empty run', doc: { ...valid, runId: '' } },
    { what: 'with the longest run', doc: { ...valid, runId: long(128) }, allow: true },
    { what: 'with too long a run', doc: { ...valid, runId: long(129) } },
    { what: 'in another’s name', doc: { ...valid, source: 'user:admin' } },
    { what: 'from the past', doc: { ...valid, receivedAt: fromNow(-3_600_000), expiresAt: fromNow(-3_600_000 + 2_592_000_000) } },
    { what: 'from the future', doc: { ...valid, receivedAt: fromNow(3_600_000), expiresAt: fromNow(3_600_000 + 2_592_000_000) } },
    { what: 'kept for ever', doc: { ...valid, expiresAt: fromNow(9_999_999_999) } },
    { what: 'handled already', doc: { ...valid, state: 'handled' } },
    { what: 'taken already', doc: { ...valid, taken: 1 } },
    { what: 'hidden from the reconciler', doc: { ...valid, due: '0|9999999999999' } },
    { what: 'without a payload', doc: without(valid, 'payload') },
    { what: 'with a payload of another size', doc: { ...valid, payload: { ...paid, size: 1 } } },
    { what: 'with a payload of another digest', doc: { ...valid, payload: { ...paid, digest: 'f'.repeat(64) } } },
    { what: 'with a payload that says more', doc: { ...valid, payload: { ...paid, forged: true } } },
    { what: 'with a payload in parts', doc: { ...valid, payload: { ...paid, parts: 3 } } },
    { what: 'with the longest payload', doc: { ...valid, payload: payload(long(200_000)) }, allow: true },
    { what: 'with too long a payload', doc: { ...valid, payload: tooLong } },
    { what: 'with an empty payload', doc: { ...valid, payload: payload('') } },
  ]);
  yield* byEverybody('event', path, (by) => event(by), starters);
}

function* byEverybody(kind: string, path: string, docBy: (by: string) => Doc, allowed: readonly Who[]): Iterable<Case> {
  for (const as of everybody) {
    const name = `${String(as)} creates a ${kind}`;
    yield { name, as, request: { verb: 'create', path, doc: docBy(as ?? 'nobody') }, allow: allowed.includes(as) };
  }
}
