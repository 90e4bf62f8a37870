import { parseJson } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import type { EventRecord } from '../model/event.ts';
import type { DeclaredTrigger } from '../model/trigger.ts';
import { startRun } from '../runner/runs.ts';
import type { Runtime } from '../runner/runtime.ts';
import { documentSource, lineageOf, matches, senderPath } from './event-match.ts';
import { loadPayload } from './payloads.ts';

/**
 * Starts a run of each workflow that declares the event, or the creation of the document that it tells of. The event is the start
 * key, so however often it is attended, it starts one run of each. Answers why a start was refused.
 */
export async function startDeclared(runtime: Runtime, event: EventRecord): Promise<string | undefined> {
  // Addressed to one run that is there already.
  if (event.runId !== undefined) return undefined;
  const possible = runtime.code.triggers().filter((declared) => isAbout(declared, event));
  if (possible.length === 0) return undefined;
  const payload = parseJson(await loadPayload(runtime.store, { accountId: event.accountId, runId: event.eventId }, event.payload));
  const wanted = possible.filter(({ trigger }) =>
    trigger.kind === 'event' ? matches(trigger.match, event, payload) : isCreation(payload),
  );
  const sender = senderPath(event);
  const lineage = lineageOf(event, sender === undefined ? undefined : (await runtime.store.get([sender])).docs[0]);
  let refused: string | undefined;
  for (const workflowId of new Set(wanted.map((declared) => declared.workflowId))) {
    try {
      await startRun(runtime, {
        accountId: event.accountId,
        workflowId,
        input: payload,
        startedBy: { kind: 'event', id: event.name },
        startKey: `event:${event.eventId}`,
        policy: { restartFailed: false },
        chainDepth: lineage.chainDepth,
        ...(lineage.tainted ? { tainted: true } : {}),
      });
    } catch (error) {
      // Trying again would not help, and must not keep the event from the others.
      if (!(error instanceof KilnError)) throw error;
      refused = `${workflowId}: ${toErrorRecord(error).message}`;
    }
  }
  return refused;
}

function isAbout({ trigger }: DeclaredTrigger, { name, source }: EventRecord): boolean {
  if (trigger.kind === 'event') return trigger.event === name;
  return trigger.kind === 'document' && source === documentSource(trigger.path);
}

function isCreation(payload: Json): boolean {
  return typeof payload === 'object' && payload !== null && !Array.isArray(payload) && payload['change'] === 'created';
}
