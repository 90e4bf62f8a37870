import { canonicalJson, digest, INLINE_MAX_BYTES, parseJson } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import { referencesIn, resolveTemplates } from '../engine/templates.ts';
import type { Definition } from '../model/definition.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import type { OutboxRecord } from '../model/outbox.ts';
import { engineCollections, paths } from '../model/paths.ts';
import type { RunRecord } from '../model/run.ts';
import { declaredOf } from '../runner/declared.ts';
import type { DeclaredWorkflow } from '../runner/declared.ts';
import type { Runtime } from '../runner/runtime.ts';
import { readScope } from '../runner/scope-reader.ts';
import { runLink } from './notices.ts';
import { loadPayload } from './payloads.ts';
import { newDelivery } from './told.ts';
import { StoreConflict } from './store.ts';

type Destination = NonNullable<Definition['destinations']>[number];
type Draft = Pick<OutboxRecord, 'kind' | 'to' | 'body'> & Partial<Pick<OutboxRecord, 'subject' | 'link' | 'secret'>>;

/**
 * Hands the result of a run to its destinations, each as a delivery of its own that is tried for a day and can be sent again. The
 * ids of the deliveries follow from run and destination: a completion that is attended twice creates them once.
 */
export async function deliverDestinations(runtime: Runtime, run: RunRecord): Promise<void> {
  if (run.status === 'rejected') return;
  const workflow = await declaredOf(runtime, run);
  if (workflow === undefined) return;
  for (const [n, destination] of (workflow.declared.destinations ?? []).entries()) {
    if (!(destination.on ?? ['completed']).some((status) => status === run.status)) continue;
    const id = `dest-${digest(`${run.runId}/${n}`).slice(0, 24)}`;
    for (const [m, record] of (await recordsFor(runtime, run, destination, id, workflow)).entries()) {
      const own = m === 0 ? record : { ...record, id: `${record.id}-${m}` };
      try {
        await runtime.store.commit([{ op: 'create', path: paths.outbox(run.accountId, own.id), data: own }]);
      } catch (error) {
        if (!(error instanceof StoreConflict)) throw error;
      }
    }
  }
}

/** A destination whose templates cannot be filled in is a failed delivery that people see, not a completion that never ends. */
async function recordsFor(
  runtime: Runtime,
  run: RunRecord,
  destination: Destination,
  id: string,
  workflow: DeclaredWorkflow,
): Promise<readonly OutboxRecord[]> {
  const now = runtime.clock.now();
  const base = { accountId: run.accountId, id, runId: run.runId } as const;
  try {
    const drafts = await draftsFor(runtime, run, destination, workflow, now);
    return drafts.map((draft) => newDelivery({ ...base, ...draft, chainDepth: run.chainDepth }, now));
  } catch (error) {
    if (!(error instanceof KilnError)) throw error;
    const failed = newDelivery(
      { ...base, kind: kindOf(destination), to: targetOf(destination), body: '', error: toErrorRecord(error) },
      now,
    );
    const { due: _due, ...settled } = failed;
    return [{ ...settled, state: 'failed' }];
  }
}

async function draftsFor(
  runtime: Runtime,
  run: RunRecord,
  given: Destination,
  { declared, index }: DeclaredWorkflow,
  now: number,
): Promise<readonly Draft[]> {
  const guarded = run.tainted === true && (declared.guardTainted ?? true);
  const target = targetOf(given);
  // Whoever could write into the input could otherwise say where the result is sent.
  if (guarded && (given.type === 'webhook' || given.type === 'email') && referencesIn(target).some(({ root }) => root !== 'secret'))
    throw new KilnError(
      'auth.forbidden',
      'the run has read content from outside, and the address of this destination is made from data; write it out',
    );
  const fields = given as unknown as { [field: string]: Json };
  const scope = await readScope(runtime.store, { ref: run, index, place: undefined, loops: [] }, { references: referencesIn(fields) });
  const filled = { ...fields };
  for (const [field, value] of Object.entries(fields)) {
    const keepSecrets = given.type === 'webhook' && field === 'url';
    filled[field] = resolveTemplates(value, (reference) => scope.lookup(reference), { keepSecrets });
  }
  const destination = filled as unknown as Destination;
  const result = await resultOf(runtime, run);
  switch (destination.type) {
    case 'webhook': {
      const body = canonicalJson({ type: `run.${run.status}`, timestamp: new Date(now).toISOString(), data: result });
      return [{ kind: 'webhook', to: destination.url, body, ...(destination.secret === undefined ? {} : { secret: destination.secret }) }];
    }
    case 'email': {
      const subject = destination.subject ?? `${declared.name ?? run.workflowId}: ${run.status}`;
      const body = `The run ${run.runId} of ${run.workflowId} is ${run.status}.\n\n${readable(result['output'] ?? result['error'] ?? null)}`;
      const link = runLink(run.accountId, run.runId);
      return destination.to.map((to) => ({ kind: 'mail', to, subject, body, link }));
    }
    case 'kb':
      return [
        {
          kind: 'kb',
          to: destination.collection,
          subject: destination.title ?? `${declared.name ?? run.workflowId} ${run.runId}`,
          body: readable(result['output'] ?? null),
        },
      ];
    case 'firestore':
      return [{ kind: 'document', to: documentPath(run.accountId, destination.path), body: canonicalJson(result) }];
  }
}

async function resultOf(runtime: Runtime, run: RunRecord): Promise<{ [field: string]: Json }> {
  const { runId, workflowId, version, status, businessKey, businessState, output, error } = run;
  const large = output !== undefined && output.size > INLINE_MAX_BYTES;
  return {
    runId,
    workflowId,
    version,
    status,
    ...(businessKey === undefined ? {} : { businessKey }),
    ...(businessState === undefined ? {} : { businessState }),
    ...(output === undefined || large ? {} : { output: parseJson(await loadPayload(runtime.store, run, output)) }),
    // Never cut in silence: the receiver can fetch what does not fit.
    ...(large ? { outputOmitted: { bytes: output.size, digest: output.digest, limit: INLINE_MAX_BYTES } } : {}),
    ...(error === undefined ? {} : { error: { code: error.code, message: error.message } }),
  };
}

function readable(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

function kindOf({ type }: Destination): OutboxRecord['kind'] {
  switch (type) {
    case 'webhook':
    case 'kb':
      return type;
    case 'email':
      return 'mail';
    case 'firestore':
      return 'document';
  }
}

function targetOf(destination: Destination): string {
  switch (destination.type) {
    case 'webhook':
      return destination.url;
    case 'email':
      return destination.to.join(', ');
    case 'kb':
      return destination.collection;
    case 'firestore':
      return destination.path;
  }
}

/**
 * The path of a document below the account: `results/{{run.id}}` or its full form. The engine's own collections and other accounts
 * are refused, whatever a template brought.
 */
export function documentPath(accountId: string, given: string): string {
  const prefix = `${paths.account(accountId)}/`;
  const inner = given.startsWith(prefix) ? given.slice(prefix.length) : given;
  const parts = inner.split('/');
  const [collection = ''] = parts;
  const wellFormed =
    parts.length % 2 === 0 &&
    parts.length <= 20 &&
    parts.every((part) => part !== '' && part !== '.' && part !== '..' && !/^__.*__$/.test(part));
  if (!wellFormed || collection === 'accounts' || collection === 'system' || engineCollections.has(collection))
    throw new KilnError(
      'request.invalid',
      `"${given.slice(0, 200)}" is no path of a document that the team owns; write collection/document below the account`,
    );
  return prefix + inner;
}
