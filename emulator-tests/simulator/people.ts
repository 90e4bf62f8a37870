import { indexDefinition } from '../../functions/src/engine/definition-index.ts';
import { storePayload } from '../../functions/src/ledger/payloads.ts';
import { eventRecord } from '../../functions/src/ledger/events.ts';
import type { Snapshot, Write } from '../../functions/src/ledger/store.ts';
import type { ApprovalRecord } from '../../functions/src/model/approval.ts';
import { commandDocument, decisionDocument, requestDocument } from '../../functions/src/model/client-documents.ts';
import type { CommandKind } from '../../functions/src/model/command.ts';
import type { Definition } from '../../functions/src/model/definition.ts';
import type { WaitRecord } from '../../functions/src/model/event.ts';
import { ANY_KEY } from '../../functions/src/model/event.ts';
import type { MemberRecord } from '../../functions/src/model/member.ts';
import { paths } from '../../functions/src/model/paths.ts';
import type { RunRef } from '../../functions/src/model/paths.ts';
import { terminalRunStatuses } from '../../functions/src/model/run.ts';
import type { RunRecord } from '../../functions/src/model/run.ts';
import type { StepRecord } from '../../functions/src/model/step.ts';
import { startRun } from '../../functions/src/runner/runs.ts';
import type { Scenario, Wish } from './scenario.ts';
import { Standing } from './standing.ts';
import type { World } from './world.ts';

const VOTERS = ['ann', 'bob', 'cid'] as const;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

const orders = ['cancel', 'pause', 'resume', 'retry', 'skip', 'override_wait', 'resolve'] as const;

function isOrder(kind: CommandKind): kind is (typeof orders)[number] {
  return (orders as readonly CommandKind[]).includes(kind);
}

/** Everybody outside: those who start runs, decide, send events and give orders. They act through documents and the API. */
export class People {
  readonly #world: World;
  readonly #deterministic: boolean;
  readonly #punctual: boolean;
  readonly #definitions: ReadonlyMap<string, Definition>;
  #n = 0;

  constructor(world: World, { deterministic, definitions, punctual }: Scenario) {
    this.#world = world;
    this.#punctual = punctual;
    this.#deterministic = deterministic;
    this.#definitions = new Map(definitions.map((definition) => [definition.id, definition]));
  }

  /** The members of an account, as they are before anything happens. */
  settleIn(accountId: string): void {
    const data = VOTERS.map((uid): MemberRecord => ({
      v: 1,
      accountId,
      uid,
      email: `${uid}@${accountId}.example`,
      name: uid,
      roles: uid === 'ann' ? ['approver', 'admin'] : ['approver', 'operator'],
      departments: [],
      active: true,
      updatedAt: 0,
      updatedBy: 'seed',
    }));
    this.#write(data.map((member) => ({ op: 'create', path: paths.member(accountId, member.uid), data: member })));
  }

  /** Starts a run, by the API with a start key or by a document. */
  start(wish: Wish, byDocument: boolean): void {
    const { random } = this.#world;
    const at = this.#world.now + random.int(2 * MINUTE);
    const { accountId, workflowId, input, runId } = wish;
    if (byDocument) {
      const data = requestDocument({ accountId, id: runId, by: 'ann', at, workflowId, input: JSON.stringify(input) });
      this.#world.schedule(at, `ann asks for a run of ${accountId}/${workflowId}`, () =>
        this.#write([{ op: 'create', path: paths.request(accountId, runId), data }]),
      );
      return;
    }
    this.#world.call(at, `start ${accountId}/${workflowId}`, async (runtime) => {
      const startedBy = { kind: 'user', id: 'ann' } as const;
      await startRun(runtime, {
        accountId,
        workflowId,
        runId,
        input: { ...input, items: [...input.items] },
        startedBy,
        startKey: runId,
        policy: { restartFailed: false },
      });
    });
  }

  /** Somebody pulls the kill switch for a while. */
  halt(): void {
    const { random, now } = this.#world;
    const from = now + random.int(10 * MINUTE);
    this.#world.schedule(from, 'kill switch on', () => {
      this.#world.counters.fault('kill switch');
      this.#setHalted(true);
      this.#world.schedule(this.#world.now + random.int(10 * MINUTE), 'kill switch off', () => this.#setHalted(false));
    });
  }

  #setHalted(halted: boolean): void {
    this.#write([{ op: 'set', path: paths.control, data: { halted, reason: 'simulated' } }]);
  }

  /** Reacts to what appears. */
  created(snapshot: Snapshot): void {
    switch (snapshot.path.split('/').at(-2)) {
      case 'approvals':
        return this.#asked(snapshot.path, snapshot.data as unknown as ApprovalRecord);
      case 'waits':
        return this.#waited(snapshot.data as unknown as WaitRecord);
      case 'runs':
        return this.#started(snapshot.data as unknown as RunRecord);
      case 'steps':
        return this.#begun(snapshot.data as unknown as StepRecord);
      default:
    }
  }

  #asked(path: string, approval: ApprovalRecord): void {
    const { random } = this.#world;
    const quorum = JSON.parse(approval.quorum) as 'any' | 'all' | { readonly quorum: number };
    const needed = quorum === 'any' ? 1 : quorum === 'all' ? VOTERS.length : quorum.quorum;
    if (this.#deterministic) {
      for (const uid of VOTERS.slice(0, needed)) this.#decideAt(path, uid, 'approve', this.#world.now + random.int(5 * 24 * HOUR));
      return;
    }
    const length = approval.deadlineAt - this.#world.now;
    for (const uid of VOTERS) {
      if (!random.chance(needed === 1 ? 0.5 : 0.8)) continue;
      const atDeadline = random.chance(0.45);
      if (atDeadline) this.#world.counters.fault('decision at the deadline');
      const at = atDeadline ? approval.deadlineAt + random.int(4) - 2 : this.#world.now + random.int(Math.ceil(length * 1.1));
      const outcome = random.chance(0.75) ? 'approve' : 'reject';
      this.#decideAt(path, uid, outcome, at);
      if (!random.chance(0.3)) continue;
      this.#world.counters.fault('two decisions at once');
      this.#decideAt(path, random.pick(VOTERS), random.pick(['approve', 'reject']), at);
    }
  }

  #decideAt(path: string, uid: string, outcome: string, at: number): void {
    this.#world.schedule(at, `${uid} decides ${outcome} on ${path}`, () => this.#decide(path, uid, outcome));
  }

  /** Exactly what firestore.rules let a member create at this moment. */
  #decide(path: string, uid: string, outcome: string): void {
    const { store, now, counters } = this.#world;
    const approval = store.peek(path)?.data as ApprovalRecord | undefined;
    const decision = `${path}/decisions/${uid}`;
    const allowed =
      approval !== undefined &&
      approval.status === 'pending' &&
      now < approval.deadlineAt &&
      approval.eligible.includes(uid) &&
      approval.outcomes.includes(outcome) &&
      store.peek(decision) === undefined;
    if (!allowed) {
      counters.fault('decision refused by rules');
      this.#world.say('refused by the rules');
      return;
    }
    const { accountId, approvalId, digest } = approval;
    const data = decisionDocument({ accountId, approvalId, by: uid, at: now, outcome, digest, comment: 'simulated' });
    this.#write([{ op: 'create', path: decision, data }]);
  }

  #waited(wait: WaitRecord): void {
    const { random, now, counters } = this.#world;
    const step = this.#world.store.peek(paths.step(wait.accountId, wait.runId, wait.stepKey));
    const wakeAt = Number(step?.data['wakeAt'] ?? now + HOUR);
    if (this.#deterministic) {
      this.#sendAt(now + random.int(3 * 24 * HOUR), wait.accountId, wait.name, wait.key);
      return;
    }
    if (random.chance(0.25)) return;
    const atTimeout = random.chance(0.4);
    if (atTimeout) counters.fault('event at the timeout');
    const at = atTimeout ? wakeAt + random.int(4) - 2 : now + random.int(Math.ceil((wakeAt - now) * 1.1) + 1);
    this.#sendAt(at, wait.accountId, wait.name, random.chance(0.1) ? 'another' : wait.key);
    if (!random.chance(0.3)) return;
    counters.fault('two events at once');
    this.#sendAt(at + random.int(100), wait.accountId, wait.name, wait.key);
  }

  #started(run: RunRecord): void {
    const { random, now } = this.#world;
    const definition = this.#definitions.get(run.workflowId);
    if (!this.#deterministic) this.#earlyEvents(run, definition);
    if (!this.#deterministic && random.chance(0.25)) {
      for (let i = 1 + random.int(3); i > 0; i -= 1) {
        this.#world.schedule(now + this.#sometime(), `bob meddles with ${run.accountId}/${run.runId}`, () => this.#meddle(run));
      }
    }
    if (!this.#deterministic && random.chance(0.12)) this.#orderAt(now + this.#sometime(), run, 'cancel');
    // What is paused misses its rings, which is as it should be.
    if (!this.#punctual && random.chance(0.2)) {
      const at = now + this.#sometime();
      this.#orderAt(at, run, 'pause');
      if (random.chance(0.8)) this.#orderAt(at + this.#sometime(), run, 'resume');
    }
  }

  /** Now and then a run is paused while one of its steps is in flight. */
  #begun(step: StepRecord): void {
    const { random, now } = this.#world;
    if (this.#punctual || !random.chance(0.03)) return;
    const at = now + random.int(400);
    this.#orderAt(at, step, 'pause');
    this.#orderAt(at + this.#sometime(), step, 'resume');
  }

  #sometime(): number {
    const { random } = this.#world;
    return Math.round(random.pick([500, 3 * SECOND, MINUTE, HOUR, 24 * HOUR]) * (0.5 + random.next()));
  }

  /** Events are named after the steps that wait for them. */
  #earlyEvents(run: RunRecord, definition: Definition | undefined): void {
    const { random, now, counters } = this.#world;
    const steps = definition === undefined ? ['s1', 's2', 's3', 's4', 's5'] : [...indexDefinition(definition).places.keys()];
    const text = run.input.json === undefined ? '' : (JSON.parse(run.input.json) as { readonly text?: string }).text;
    for (const step of steps) {
      const waits = definition === undefined || 'event' in (indexDefinition(definition).places.get(step)?.step ?? {});
      if (!waits || !random.chance(0.3)) continue;
      counters.fault('event before its wait');
      this.#sendAt(now + random.int(5 * MINUTE), run.accountId, `ev-${step}`, text ?? '');
    }
  }

  #sendAt(at: number, accountId: string, name: string, key: string): void {
    const { random, counters } = this.#world;
    const eventId = `e${(this.#n += 1)}`;
    const send = (): void => {
      const ref = { accountId, runId: eventId };
      const payload = storePayload(ref, 'payload', '{"ok":true}').payload;
      const event = { eventId, name, payload: { ok: true }, source: 'simulator', ...(key === ANY_KEY ? {} : { key }) };
      const path = paths.event(accountId, eventId);
      if (this.#world.store.peek(path) === undefined)
        this.#write([{ op: 'create', path, data: eventRecord(accountId, event, payload, this.#world.now) }]);
    };
    this.#world.schedule(at, `event ${eventId} ${accountId} ${name} ${key}`, send);
    if (!random.chance(0.1)) return;
    counters.fault('duplicate event');
    this.#world.schedule(at + random.int(2 * MINUTE), `event ${eventId} again`, send);
  }

  #orderAt(at: number, run: RunRef, kind: CommandKind): void {
    this.#world.schedule(at, `bob orders ${kind} of ${run.accountId}/${run.runId}`, () => this.#order(run, kind));
  }

  #order(run: RunRef, kind: CommandKind, about: { readonly stepKey?: string; readonly argument?: string } = {}): void {
    const { accountId, runId } = run;
    const now = this.#world.store.peek(paths.run(accountId, runId))?.data['status'];
    if (isOrder(kind)) this.#world.counters.fault(kind);
    const id = `c${(this.#n += 1)}`;
    const data = commandDocument({
      accountId,
      runId,
      by: 'bob',
      at: this.#world.now,
      kind,
      reason: `reason ${id} when ${String(now)}`,
      ...about,
    });
    this.#write([{ op: 'create', path: paths.command(accountId, runId, id), data }]);
  }

  /** An operator takes one of the steps that are under way in hand. */
  #meddle(run: RunRecord): void {
    const live = new Standing(this.#world.store).liveSteps(run).filter(({ type }) => type !== '$join');
    if (live.length === 0) return;
    const step = this.#world.random.pick(live);
    this.#order(run, ...this.#wayOut(step));
  }

  /** What an operator can do with a step as it stands. Some of it will be refused, since the step moves on meanwhile. */
  #wayOut({ key, state, wait }: StepRecord): [CommandKind, { readonly stepKey: string; readonly argument?: string }] {
    const { random } = this.#world;
    const about = { stepKey: key };
    const skip = { ...about, argument: '{"output":{"skipped":true}}' };
    if (state === 'unresolved') {
      const failed = '{"outcome":"failed","code":"alpha"}';
      return random.chance(0.3)
        ? ['skip', skip]
        : ['resolve', { ...about, argument: random.chance(0.7) ? '{"outcome":"succeeded","output":{"did":null}}' : failed }];
    }
    if (wait?.kind === 'retry') return [random.pick(['retry', 'retry', 'skip']), about];
    if (wait?.kind === 'timer' || wait?.kind === 'event') return random.chance(0.7) ? ['override_wait', about] : ['skip', skip];
    return ['skip', skip];
  }

  /** When nothing moves any more: what only a person can do. True when there was something. */
  lookAfter(standing: Standing): boolean {
    let acted = false;
    for (const run of standing.runs()) {
      if (terminalRunStatuses.has(run.status)) continue;
      const live = standing.liveSteps(run);
      const unresolved = live.find((step) => step.state === 'unresolved');
      if (run.status === 'paused') this.#order(run, 'resume');
      else if (unresolved !== undefined) this.#order(run, ...this.#wayOut(unresolved));
      else continue;
      acted = true;
    }
    return acted;
  }

  #write(writes: readonly Write[]): void {
    // Clients write at once: what is interleaved is what the engine does with it.
    void this.#world.backend.commit(writes);
  }
}
