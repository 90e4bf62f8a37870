import { canonicalJson, parseJson } from '../functions/src/engine/json.ts';
import type { Json } from '../functions/src/engine/json.ts';
import type { AnyCodeWorkflow } from '../functions/src/durable/define-workflow.ts';
import { codeWorkflows } from '../functions/src/durable/index.ts';
import { publishWorkflow } from '../functions/src/ledger/definitions.ts';
import { DatabaseClock } from '../functions/src/ledger/clock.ts';
import { FirestoreStore } from '../functions/src/ledger/firestore-store.ts';
import { newRunWrites } from '../functions/src/ledger/new-run.ts';
import { loadPayload } from '../functions/src/ledger/payloads.ts';
import type { Store, Write } from '../functions/src/ledger/store.ts';
import { paths } from '../functions/src/model/paths.ts';
import { runRecordSchema, terminalRunStatuses } from '../functions/src/model/run.ts';
import type { RunRecord } from '../functions/src/model/run.ts';
import { stepRecordSchema } from '../functions/src/model/step.ts';
import type { StepRecord } from '../functions/src/model/step.ts';
import { createStepRegistry } from '../functions/src/steps/index.ts';
import type { Firestore } from './functions-packages.ts';
import { startHost } from './host/index.ts';
import type { EventFaults, FaultHost } from './host/index.ts';
import { Target } from './target.ts';

export const ACCOUNT = 'acme';

export interface InstallationOptions {
  /** One of its own for each file. */
  readonly name: string;
  readonly worker?: boolean;
  readonly faults?: Partial<EventFaults>;
  readonly seed?: string;
  readonly concurrency?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** The module that exports the functions; by default the deployed ones with steerable actions. */
  readonly functions?: URL;
}

/** The deployed functions on the real Firestore emulator, with an outside system and members of one account. */
export class Installation {
  readonly host: FaultHost;
  readonly target: Target;
  readonly store: Store;
  readonly clock: DatabaseClock;
  #runs = 0;

  private constructor(host: FaultHost, target: Target) {
    this.host = host;
    this.target = target;
    this.store = new FirestoreStore(host.firestore());
    this.clock = new DatabaseClock(
      () => Date.now(),
      () => host.services.tasks.tasks.clock.offset,
    );
  }

  static async start(options: InstallationOptions): Promise<Installation> {
    const target = new Target();
    const host = await startHost({
      functions: options.functions ?? new URL('fixtures/functions.ts', import.meta.url),
      projectId: `demo-${options.name}`,
      env: { KILN_TEST_TARGET: await target.start(), ...options.env },
      ...(options.worker === undefined ? {} : { worker: options.worker }),
      ...(options.faults === undefined ? {} : { faults: options.faults }),
      ...(options.seed === undefined ? {} : { seed: options.seed }),
      ...(options.concurrency === undefined ? {} : { concurrency: options.concurrency }),
    });
    const installation = new Installation(host, target);
    await installation.members({ ann: ['approver'], bob: ['approver'], op: ['operator'] });
    return installation;
  }

  get db(): Firestore {
    return this.host.firestore();
  }

  async members(people: Readonly<Record<string, readonly string[]>>): Promise<void> {
    const now = this.clock.now();
    const writes = Object.entries(people).map(([uid, roles]): Write => {
      const data = {
        v: 1,
        accountId: ACCOUNT,
        uid,
        email: `${uid}@example.com`,
        name: uid,
        roles,
        departments: [],
        active: true,
        updatedAt: now,
        updatedBy: 'test',
      };
      return { op: 'set', path: paths.member(ACCOUNT, uid), data };
    });
    await this.store.commit(writes);
  }

  /** Publishes a definition; the id is the workflow's. */
  async publish(id: string, definition: object): Promise<void> {
    const whole = Array.isArray(definition) ? { id, steps: definition as object[] } : { id, ...definition };
    const publisher = { store: this.store, types: createStepRegistry(), code: codeWorkflows(), now: () => this.clock.now() };
    await publishWorkflow(publisher, { accountId: ACCOUNT, definition: whole, publishedBy: 'test' });
  }

  /** Starts a run by creating its document, as every start does in the end. */
  async start(workflow: string | AnyCodeWorkflow, input: Json = {}, version = 1): Promise<string> {
    const [workflowId, kind] = typeof workflow === 'string' ? [workflow, 'graph' as const] : [workflow.id, 'code' as const];
    const runId = `run-${workflowId}-${(this.#runs += 1)}`;
    const pinned = { kind, version, hash: 'test' };
    await this.store.commit([
      ...newRunWrites({
        accountId: ACCOUNT,
        runId,
        workflowId,
        pinned,
        input: canonicalJson(input),
        startedBy: { kind: 'user', id: 'tester' },
        now: this.clock.now(),
      }),
    ]);
    return runId;
  }

  async run(runId: string): Promise<RunRecord> {
    const { docs } = await this.store.get([paths.run(ACCOUNT, runId)]);
    return runRecordSchema.parse(docs[0]?.data);
  }

  async output(runId: string): Promise<Json | undefined> {
    const run = await this.run(runId);
    return run.output === undefined ? undefined : parseJson(await loadPayload(this.store, run, run.output));
  }

  async steps(runId: string): Promise<Map<string, StepRecord>> {
    const found = await this.host.firestore().collection(paths.steps(ACCOUNT, runId)).get();
    return new Map(found.docs.map((doc) => [doc.id, stepRecordSchema.parse(doc.data())]));
  }

  async states(runId: string): Promise<Record<string, string>> {
    return Object.fromEntries([...(await this.steps(runId))].map(([key, { state }]) => [key, state]));
  }

  /** Lets time pass until the run has ended. */
  async ended(runId: string, stepMs = 60_000): Promise<RunRecord> {
    await this.host.until(async () => terminalRunStatuses.has((await this.run(runId)).status), { stepMs });
    return this.run(runId);
  }

  /** Starts a run and lets it go as far as it comes without time passing. */
  async begin(workflowId: string, input: Json = {}): Promise<string> {
    const runId = await this.start(workflowId, input);
    await this.host.idle();
    return runId;
  }

  async approvalOf(runId: string): Promise<{ approvalId: string; digest: string; stepKey: string }[]> {
    const found = await this.host
      .firestore()
      .collection(paths.approvals(ACCOUNT))
      .where('runId', '==', runId)
      .where('status', '==', 'pending')
      .get();
    return found.docs.map((doc) => ({ approvalId: doc.id, digest: String(doc.get('digest')), stepKey: String(doc.get('stepKey')) }));
  }

  /** Creates a person's decision as the rules would let them. */
  async decide(approval: { approvalId: string; digest: string }, by: string, outcome: string, comment = 'because'): Promise<void> {
    const data = {
      v: 1,
      accountId: ACCOUNT,
      approvalId: approval.approvalId,
      by,
      outcome,
      comment,
      digest: approval.digest,
      at: this.clock.now(),
    };
    await this.store.commit([{ op: 'create', path: paths.decision(ACCOUNT, approval.approvalId, by), data }]);
  }

  /** Every document of the project with its path, collection by collection. */
  async everyDocument(): Promise<unknown[]> {
    const found: unknown[] = [];
    const pending = await this.db.listCollections();
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      for (const ref of await next.listDocuments()) {
        found.push([ref.path, (await ref.get()).data()]);
        pending.push(...(await ref.listCollections()));
      }
    }
    return found;
  }

  async close(): Promise<void> {
    await this.host.close();
    await this.target.close();
  }
}
