import { digest } from '../engine/json.ts';
import type { Held } from '../ledger/steps.ts';
import { KilnError } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import type { RunRef } from '../model/paths.ts';
import { runRecordSchema } from '../model/run.ts';
import type { RunRecord } from '../model/run.ts';
import type { EnterContext } from '../steps/step-type.ts';
import type { Runtime } from './runtime.ts';

type Lookups = Pick<EnterContext<object>, 'documentId' | 'facts' | 'starters' | 'definitions' | 'services'>;

/** What a step may look up; nothing is read until it asks. */
export function lookupsFor(runtime: Runtime, held: Held): Lookups {
  let run: Promise<RunRecord> | undefined;
  const facts = (): Promise<RunRecord> => (run ??= readRun(runtime, held.record));
  return {
    documentId: documentIdOf(held),
    facts,
    starters: async () => startersOf(runtime, await facts()),
    definitions: runtime.definitions,
    services: runtime.services,
  };
}

/** The id of a document that the step creates: the same however often the step begins, another for each step run and attempt. */
export function documentIdOf(held: Held): string {
  return digest(`${held.record.runId}/${held.record.key}/${held.record.attempt}`).slice(0, 32);
}

async function readRun(runtime: Runtime, { accountId, runId }: RunRef): Promise<RunRecord> {
  const { docs } = await runtime.store.get([paths.run(accountId, runId)]);
  if (docs[0] === undefined) throw new KilnError('run.not_found', `run ${runId} is missing`);
  return runRecordSchema.parse(docs[0].data);
}

/** Who starts a parent run has started its children, too; and a run that was forked is still the thing that its first starter began. */
async function startersOf(runtime: Runtime, first: RunRecord): Promise<readonly string[]> {
  const people = new Set<string>();
  const seen = new Set<string>();
  const pending = [first];
  for (let run = pending.pop(); run !== undefined; run = pending.pop()) {
    seen.add(run.runId);
    if (run.startedBy.kind === 'user') people.add(run.startedBy.id);
    const before = [
      ...(run.startedBy.kind === 'run' ? [run.startedBy.id] : []),
      ...(run.forkedFrom === undefined ? [] : [run.forkedFrom.runId]),
    ];
    for (const runId of before.filter((id) => !seen.has(id))) pending.push(await readRun(runtime, { accountId: first.accountId, runId }));
  }
  return [...people];
}
