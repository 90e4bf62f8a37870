import { evaluateCondition } from '../engine/conditions.ts';
import type { Json } from '../engine/json.ts';
import type { EventRecord } from '../model/event.ts';
import { paths } from '../model/paths.ts';
import { runRecordSchema } from '../model/run.ts';
import type { Snapshot } from './store.ts';

const RUN = 'run:';

/** Whether the expression holds for the event. One that cannot be evaluated on this event does not match it; others may fit. */
export function matches(expression: string | undefined, event: EventRecord, payload: Json, vars: { readonly [name: string]: Json } = {}) {
  if (expression === undefined) return true;
  const { eventId: id, name, key = null } = event;
  try {
    return evaluateCondition(expression, { ...vars, event: { id, name, key, payload } });
  } catch {
    return false;
  }
}

/** The name of the event that tells of a change of the document. */
export function documentEvent(path: string): string {
  return `document:${path}`;
}

/** The source of events about the team's own documents, by the path that is watched. */
export function documentSource(pattern: string): string {
  return `document:${pattern}`;
}

/** The source of an event that a run sends. */
export function runSource(runId: string): string {
  return `${RUN}${runId}`;
}

/** The run that sent the event, to be read: what it has read from outside is in the event too. */
export function senderPath({ accountId, source }: EventRecord): string | undefined {
  return source.startsWith(RUN) ? paths.run(accountId, source.slice(RUN.length)) : undefined;
}

export interface Lineage {
  readonly tainted: boolean;
  /** The depth of a run that the event starts. */
  readonly chainDepth: number;
}

/** What an event passes on to the runs that it reaches. `sender` is the run of `senderPath`; one that is gone is taken for tainted. */
export function lineageOf(event: EventRecord, sender: Snapshot | undefined): Lineage {
  if (senderPath(event) === undefined) return { tainted: event.tainted === true, chainDepth: event.chainDepth ?? 0 };
  const run = sender === undefined ? undefined : runRecordSchema.parse(sender.data);
  return { tainted: run === undefined || run.tainted === true, chainDepth: (run?.chainDepth ?? 0) + 1 };
}
