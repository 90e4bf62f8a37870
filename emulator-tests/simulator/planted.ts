/**
 * Bugs that are planted into a copy of the engine, one at a time: none of them is in what ships. Each names the exact text that
 * it replaces, so a change of the engine that would blind it is noticed.
 */
export interface Planted {
  readonly id: string;
  /** What is broken, in words. */
  readonly bug: string;
  /** Below functions/src. */
  readonly file: string;
  readonly edits: readonly (readonly [find: string, replace: string])[];
}

const ledger: readonly Planted[] = [
  {
    id: 'result-without-fence',
    bug: 'a result is written without checking that the step is as it was',
    file: 'ledger/transitions.ts',
    edits: [['stored, now, ending === held ? held.updateTime : undefined)', 'stored, now, undefined)']],
  },
  {
    id: 'claim-without-fence',
    bug: 'two performers may both claim a step',
    file: 'ledger/transitions.ts',
    edits: [['data: { ...patch, ...gone }, ifUpdateTime: held.updateTime }', 'data: { ...patch, ...gone } }']],
  },
  {
    id: 'suspend-without-fence',
    bug: 'a step begins to wait although it has moved on',
    file: 'ledger/transitions.ts',
    edits: [
      [
        "    { op: 'update', path: stepPath(record), data, ifUpdateTime: held.updateTime },\n    ...(givesBack",
        "    { op: 'update', path: stepPath(record), data },\n    ...(givesBack",
      ],
    ],
  },
  {
    id: 'join-shared',
    bug: 'the joins of two iterations of an outer loop are one',
    file: 'ledger/joins.ts',
    edits: [['`${lane.ownerKey}:${level}:${node}`', '`${lane.owner}:${level}:${node}`']],
  },
  {
    id: 'join-one-early',
    bug: 'a join fires one lane too early',
    file: 'ledger/joins.ts',
    edits: [['if (after.members.length < size) return writes;', 'if (after.members.length < size - 1) return writes;']],
  },
  {
    id: 'join-unfenced',
    bug: 'of two lanes that end together only one is counted',
    file: 'ledger/joins.ts',
    edits: [['asRead(docs[0], path, after)', "{ op: docs[0] === undefined ? 'create' : 'update', path, data: after }"]],
  },
  {
    id: 'cancel-spares-steps',
    bug: 'cancelling ends the run but not its steps in flight',
    file: 'ledger/end-run.ts',
    edits: [['of live.docs.slice(0, LIVE_CHUNK)', 'of live.docs.slice(0, 0)']],
  },
  {
    id: 'command-table-ignored',
    bug: 'commands are carried out whatever the run has come to',
    file: 'ledger/commands/order.ts',
    edits: [['if (!verdict.allowed) throw', "if (verdict.reason === '') throw"]],
  },
  {
    id: 'early-join-twice',
    bug: 'an early join delivered twice cancels the path that follows it',
    file: 'ledger/end-run.ts',
    edits: [["if (docs[0]?.data['state'] !== 'ready') throw", 'if (docs[0] === undefined) throw']],
  },
  {
    id: 'gate-not-inherited',
    bug: 'a new step does not take over that the run is paused',
    file: 'ledger/steps.ts',
    edits: [['    gate: from.gate,', "    gate: 'open',"]],
  },
  {
    id: 'new-step-not-due',
    bug: 'a new step is not due, so a lost trigger loses it',
    file: 'ledger/steps.ts',
    edits: [["    ...(from.gate === 'paused' ? {} : { due: dueField(from.runId, now + ATTEND_WITHIN_MS) }),\n", '']],
  },
  {
    id: 'claim-not-due',
    bug: 'a claimed step is not due when its lease ends',
    file: 'ledger/transitions.ts',
    edits: [['    due: dueField(record.runId, now + options.leaseMs),\n', '    due: remove,\n']],
  },
  {
    id: 'paused-retry-due',
    bug: 'a paused step that waits for its next attempt stays due for ever',
    file: 'ledger/transitions.ts',
    edits: [["return begins && record.gate === 'paused' ? remove", 'return !begins && record.gate === undefined ? remove']],
  },
  {
    id: 'attempts-not-counted',
    bug: 'an attempt is not counted when it begins',
    file: 'ledger/transitions.ts',
    edits: [['n: record.attempt + 1, startedAt: now', 'n: Math.max(1, record.attempt), startedAt: now']],
  },
];

const time: readonly Planted[] = [
  {
    id: 'timer-trusted-early',
    bug: 'a timer that rings early is believed',
    file: 'engine/due.ts',
    edits: [["      if (now < step.wakeAt) return { kind: 'early', at: step.wakeAt };\n", '']],
  },
  {
    id: 'lease-ignored',
    bug: 'a lease counts for nothing: whoever looks takes the step away',
    file: 'engine/due.ts',
    edits: [['return now >= step.lease.until ? ', 'return now >= 0 ? ']],
  },
  {
    id: 'pause-ignored',
    bug: 'a paused step begins',
    file: 'engine/due.ts',
    edits: [["return step.gate === 'paused' ? { kind: 'nothing' } : { kind: 'begin' };", "return { kind: 'begin' };"]],
  },
  {
    id: 'database-clock-ignored',
    bug: 'what is due is judged by the instance’s own clock',
    file: 'ledger/clock.ts',
    edits: [
      ['if (serverTime > 0) this.#skew = serverTime - this.#local();', 'if (serverTime < 0) this.#skew = serverTime - this.#local();'],
    ],
  },
  {
    id: 'early-ring-same-name',
    bug: 'an early ring is armed again under its used name',
    file: 'runner/attend.ts',
    edits: [['caller.hop + 1', 'caller.hop']],
  },
  {
    id: 'task-name-reused',
    bug: 'all timers of a step share one task name',
    file: 'timers/doorbells.ts',
    edits: [['@${at}#${hop}${state}', '#${hop}']],
  },
  {
    id: 'no-hops',
    bug: 'a far timer is armed in one hop, which the task queue refuses',
    file: 'timers/doorbells.ts',
    edits: [['const due = Math.min(at, this.#now() + MAX_HOP_MS);', 'const due = at;']],
  },
  {
    id: 'never-armed',
    bug: 'a wait is committed, but no doorbell is armed for it',
    file: 'runner/waiting.ts',
    edits: [['if (entered.wakeAt !== undefined) await runtime.doorbells.arm(record, entered.wakeAt, 0, held.updateTime);', '']],
  },
  {
    id: 'armed-after-commit',
    bug: 'the doorbell is armed after the commit that it belongs to',
    file: 'runner/waiting.ts',
    edits: [
      ['if (entered.wakeAt !== undefined) await runtime.doorbells.arm(record, entered.wakeAt, 0, held.updateTime);', ''],
      [
        "  if (entered.wait.kind === 'event') await matchBufferedEvent(",
        "  if (entered.wakeAt !== undefined) await runtime.doorbells.arm(record, entered.wakeAt, 0, held.updateTime);\n  if (entered.wait.kind === 'event') await matchBufferedEvent(",
      ],
    ],
  },
  {
    id: 'reconciler-skips-a-shard',
    bug: 'the reconciler looks at three of four shards',
    file: 'ledger/due.ts',
    edits: [['(_, shard) => ({ from: `${shard}|`', '(_, shard) => ({ from: `${shard || 1}|`']],
  },
  {
    id: 'reconciler-skips-commands',
    bug: 'the reconciler does not know that commands can be due',
    file: 'timers/reconciler.ts',
    edits: [['from: { group },', "from: { group: group === 'commands' ? 'events' : group },"]],
  },
];

const effects: readonly Planted[] = [
  {
    id: 'unknown-outcome-repeated',
    bug: 'an effect whose outcome is unknown is tried again',
    file: 'engine/retry.ts',
    edits: [
      [
        "return idempotent ? retryOrFail(error, attempt, policy, random) : { kind: 'unresolved' };",
        'return idempotent ? retryOrFail(error, attempt, policy, random) : retryOrFail(error, attempt, policy, random);',
      ],
    ],
  },
  {
    id: 'lost-attempt-repeated',
    bug: 'a lost attempt is repeated although that may do it twice',
    file: 'runner/attend.ts',
    edits: [['if (!settlesItself) return leaveUnresolved(', 'if (record.attempt < 0) return leaveUnresolved(']],
  },
  {
    id: 'timeout-is-clean',
    bug: 'an attempt that was given up on counts as not having happened',
    file: 'runner/attempt.ts',
    edits: [["underWay ? { ...error, class: 'unknown_outcome' } : error", 'underWay ? error : error']],
  },
  {
    id: 'template-twice',
    bug: 'inserted text is expanded again',
    file: 'steps/transform.ts',
    edits: [
      [
        'compute: ({ config }) => config.value,',
        "compute: ({ config }) => JSON.parse(JSON.stringify(config.value).replaceAll('{{workflow_input.n}}', '5')),",
      ],
    ],
  },
];

const meetings: readonly Planted[] = [
  {
    id: 'closed-wait-takes',
    bug: 'a wait that has ended takes another event',
    file: 'ledger/events.ts',
    edits: [["if (waitRecordSchema.parse(waitDoc.data).state === 'closed' || !still) return false;", '']],
  },
  {
    id: 'event-used-twice',
    bug: 'an event may be used twice by one run',
    file: 'ledger/events.ts',
    edits: [
      [' || consumedDoc !== undefined) return false;', ') return false;'],
      ["tx.write({ op: 'create', path: consumed,", "tx.write({ op: 'set', path: consumed,"],
    ],
  },
  {
    id: 'event-handled-first',
    bug: 'an event is acknowledged before it has met its waits',
    file: 'ledger/events.ts',
    edits: [
      [
        "  if (event.state === 'handled') return;\n",
        "  if (event.state === 'handled') return;\n  await runtime.store.commit([{ op: 'update', path, data: { state: 'handled', due: remove } }]);\n",
      ],
    ],
  },
  {
    id: 'no-last-look',
    bug: 'a wait gives up without looking for events that came in time',
    file: 'runner/waiting.ts',
    edits: [['if (await matchBufferedEvent(runtime, held.record, wait.waitId)) return;', '']],
  },
  {
    id: 'expiry-first',
    bug: 'the deadline is looked at before the decisions that came in time',
    file: 'ledger/approvals.ts',
    edits: [
      [
        "if (counted.result.kind === 'decided') {",
        "if (counted.result.kind === 'decided' && !passTime(look.agenda, approval, now).expired) {",
      ],
    ],
  },
  {
    id: 'decisions-read-outside',
    bug: 'decisions are read outside the transaction that ends the request',
    file: 'ledger/approvals.ts',
    edits: [
      ['const look = await readApproval(tx, ref);', 'const look = await readApproval(runtime.store as unknown as Transaction, ref);'],
    ],
  },
  {
    id: 'parent-not-told',
    bug: 'the end of a child run does not reach its parent',
    file: 'runner/runs.ts',
    edits: [
      ['if (run.parent !== undefined) await wakeParent(', 'if (run.startKey !== undefined && run.parent !== undefined) await wakeParent('],
    ],
  },
  {
    id: 'early-join-spares-lanes',
    bug: 'a join that is decided early does not end the other lanes',
    file: 'runner/containers.ts',
    edits: [["if (join.reason !== 'complete') {", "if (join.reason !== 'complete' && join.lanes < 0) {"]],
  },
  {
    id: 'waits-across-accounts',
    bug: 'an event meets the waits of every account',
    file: 'ledger/events.ts',
    edits: [['from: paths.waits(event.accountId),', "from: { group: 'waits' },"]],
  },
  {
    id: 'start-key-ignored',
    bug: 'asked twice, a run is started twice',
    file: 'runner/runs.ts',
    edits: [['if (run !== undefined && reuses(', 'if (run === undefined && reuses(']],
  },
];

const code: readonly Planted[] = [
  {
    id: 'code-transaction-unfenced',
    bug: 'the writes of a step transaction are applied again when it is run again',
    file: 'durable/perform-transaction.ts',
    edits: [['if (docs[0]?.updateTime !== held.updateTime) throw', 'if (docs[0] === undefined) throw']],
  },
  {
    id: 'code-losers-live',
    bug: 'steps that the code no longer waits for go on',
    file: 'durable/turn.ts',
    edits: [['if (losers.length === 0) return [];', 'if (losers.length >= 0) return [];']],
  },
  {
    id: 'code-undo-paused',
    bug: 'undoing a run that failed while it was paused never begins',
    file: 'durable/turn.ts',
    edits: [["from: { ...from, gate: 'open' }", 'from: { ...from, gate: from.gate }']],
  },
];

export const planted: readonly Planted[] = [...ledger, ...time, ...effects, ...meetings, ...code];
