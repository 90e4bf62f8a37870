import { digest } from '../engine/json.ts';
import { effectRecordSchema } from '../model/effect.ts';
import { paths } from '../model/paths.ts';
import type { RunRef } from '../model/paths.ts';
import type { Payload } from '../model/payload.ts';
import type { RunRecord } from '../model/run.ts';
import { stepRecordSchema } from '../model/step.ts';
import type { StepRecord } from '../model/step.ts';
import { requestOf, startKeyPath } from './new-run.ts';
import { stepPath } from './steps.ts';
import { remove } from './store.ts';
import type { Query, Snapshot, Store, Write } from './store.ts';

const PAGE = 200;
const ERASED = '{"erased":true}';

/** What stands where a value was: its size and digest still prove what it had been. */
function erased({ size, digest: of }: Payload): Payload {
  return { size, digest: of, json: ERASED };
}

/**
 * Takes everything that a run carried out of its documents: inputs, outputs, details, journals, what approvers were shown and
 * what events said. What happened, when and by whom stays. Only for runs that have ended. Repeated, it changes nothing more.
 */
export async function erasePayloads(store: Store, run: RunRecord, now: number): Promise<void> {
  const { accountId, runId } = run;
  await eachPage(store, stepsFrom(run), async (docs) => {
    await store.commit(docs.map((doc) => eraseStep(stepRecordSchema.parse(doc.data))));
  });
  await eachOf(store, paths.approvals(accountId), runId, (doc) => eraseRequest(store, doc));
  await eachOf(store, paths.effects(accountId), runId, (doc) => eraseEffect(store, doc));
  await eachOf(store, paths.waits(accountId), runId, async ({ path }) => void (await store.commit([{ op: 'delete', path }])));
  const request = requestOf(run);
  if (request !== undefined) await store.commit([{ op: 'delete', path: paths.request(accountId, request) }]);
  for (const name of ['payloads', 'journal', 'trace', 'answers']) await deleteAll(store, `${paths.run(accountId, runId)}/${name}`);
  const error =
    run.error === undefined
      ? {}
      : {
          error: {
            code: run.error.code,
            class: run.error.class,
            message: '',
            ...(run.error.stepKey === undefined ? {} : { stepKey: run.error.stepKey }),
          },
        };
  const data = {
    input: erased(run.input),
    ...(run.output === undefined ? {} : { output: erased(run.output) }),
    ...error,
    context: remove,
    problems: remove,
    businessKey: remove,
    attributes: remove,
    tags: remove,
    erasedAt: now,
  };
  await store.commit([{ op: 'update', path: paths.run(accountId, runId), data }]);
}

function eraseStep(step: StepRecord): Write {
  const data = {
    ...(step.input === undefined ? {} : { input: erased(step.input) }),
    ...(step.output === undefined ? {} : { output: erased(step.output) }),
    editedInput: remove,
    details: remove,
    progress: remove,
    baton: remove,
    turnError: remove,
    attempts: step.attempts.map(({ error: _error, ...attempt }) => attempt),
    ...(step.error === undefined ? {} : { error: { code: step.error.code, class: step.error.class, message: '' } }),
  };
  return { op: 'update', path: stepPath(step), data };
}

/** What was shown to approvers, and what they made of it and said about it. */
async function eraseRequest(store: Store, { id, path, data }: Snapshot): Promise<void> {
  const accountId = String(data['accountId']);
  const decisions = await store.query({ from: paths.decisions(accountId, id), where: [], limit: PAGE });
  await store.commit([
    { op: 'update', path, data: { title: 'erased', shown: erased(data['shown'] as Payload), effect: remove, form: remove } },
    { op: 'delete', path: paths.correction(accountId, id) },
    ...decisions.docs.map(({ path: decision }): Write => ({ op: 'update', path: decision, data: { comment: remove, values: remove } })),
  ]);
}

/** An effect that happened stays one that is not repeated; what came of it is no longer told. */
async function eraseEffect(store: Store, { path, data }: Snapshot): Promise<void> {
  const { result } = effectRecordSchema.parse(data);
  if (result !== undefined) await store.commit([{ op: 'update', path, data: { result: erased(result) } }]);
}

/** What of a run lies beside it. A step forgets which request it waited for; the request knows its run. */
async function eachOf(store: Store, from: string, runId: string, work: (doc: Snapshot) => Promise<void>): Promise<void> {
  for (let after: string | undefined; ;) {
    const page = after === undefined ? {} : { startAfter: [after] };
    const { docs } = await store.query({ from, where: [['runId', '==', runId]], ...page, limit: PAGE });
    for (const doc of docs) await work(doc);
    if (docs.length < PAGE) return;
    after = docs.at(-1)?.id;
  }
}

/** Deletes what of a run is not the record of what people did. */
export async function deleteSteps(store: Store, ref: RunRef): Promise<void> {
  for (const name of ['steps', 'joins', 'states', 'consumed', 'marks'])
    await deleteAll(store, `${paths.run(ref.accountId, ref.runId)}/${name}`);
  await store.commit([
    { op: 'delete', path: paths.completion(ref.accountId, ref.runId) },
    { op: 'delete', path: paths.reconciliation(ref.accountId, ref.runId) },
  ]);
}

/** Deletes the rest: history, commands, requests with their decisions, the key that it was started by, and the run itself. */
export async function deleteRun(store: Store, run: RunRecord): Promise<void> {
  const { accountId, runId } = run;
  await eachOf(store, paths.approvals(accountId), runId, async ({ id, path }) => {
    await deleteAll(store, paths.decisions(accountId, id));
    await deleteAll(store, paths.verdicts(accountId, id));
    await store.commit([{ op: 'delete', path }]);
  });
  for (const name of ['history', 'commands']) await deleteAll(store, `${paths.run(accountId, runId)}/${name}`);
  if (run.startKey !== undefined) await deleteStartKey(store, startKeyPath(run, run.startKey), runId);
  await store.commit([
    { op: 'delete', path: paths.exception(accountId, runId) },
    { op: 'delete', path: paths.run(accountId, runId) },
  ]);
}

/** A later run may have taken the key over. */
async function deleteStartKey(store: Store, path: string, runId: string): Promise<void> {
  const { docs } = await store.get([path]);
  if (docs[0]?.data['runId'] === runId) await store.commit([{ op: 'delete', path, ifUpdateTime: docs[0].updateTime }]);
}

async function deleteAll(store: Store, collection: string): Promise<void> {
  for (;;) {
    const { docs } = await store.query({ from: collection, where: [], limit: PAGE });
    if (docs.length > 0) await store.commit(docs.map(({ path }) => ({ op: 'delete', path })));
    if (docs.length < PAGE) return;
  }
}

function stepsFrom({ accountId, runId }: RunRef): (after: string) => Query {
  return (after) => ({ from: paths.steps(accountId, runId), where: [['key', '>', after]], orderBy: [['key', 'asc']], limit: PAGE });
}

async function eachPage(store: Store, query: (after: string) => Query, work: (docs: readonly Snapshot[]) => Promise<void>): Promise<void> {
  for (let after = ''; ;) {
    const { docs } = await store.query(query(after));
    if (docs.length > 0) await work(docs);
    if (docs.length < PAGE) return;
    after = String(docs.at(-1)?.data['key']);
  }
}

/** Everything of a run as lines of JSON, for keeping it elsewhere before it is deleted. */
export async function exportRun(store: Store, ref: RunRef): Promise<{ readonly text: string; readonly digest: string }> {
  const run = paths.run(ref.accountId, ref.runId);
  const lines: string[] = [];
  const { docs } = await store.get([run]);
  for (const doc of docs) if (doc !== undefined) lines.push(lineOf(doc));
  for (const name of ['steps', 'payloads', 'journal', 'states', 'history', 'commands']) {
    // Ordered by the field that each of them has; parts of payloads are few.
    const order = orders[name];
    for (let after: string | number = order?.from ?? ''; ;) {
      const found = await store.query(
        order === undefined
          ? { from: `${run}/${name}`, where: [], limit: EXPORT_MAX }
          : { from: `${run}/${name}`, where: [[order.field, '>', after]], orderBy: [[order.field, 'asc']], limit: PAGE },
      );
      lines.push(...found.docs.map(lineOf));
      if (order === undefined || found.docs.length < PAGE) break;
      after = found.docs.at(-1)?.data[order.field] as string | number;
    }
  }
  const text = `${lines.join('\n')}\n`;
  return { text, digest: digest(text) };
}

const EXPORT_MAX = 5_000;
const orders: Readonly<Record<string, { readonly field: string; readonly from: string | number } | undefined>> = {
  steps: { field: 'key', from: '' },
  history: { field: 'n', from: 0 },
};

function lineOf({ path, data }: Snapshot): string {
  return JSON.stringify({ path, data });
}
