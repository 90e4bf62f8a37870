import { z } from 'zod';
import { parseDuration } from '../engine/duration.ts';
import type { Definition } from '../model/definition.ts';
import { KilnError } from '../model/errors.ts';
import type { WatchRecord } from '../model/alert.ts';
import { paths } from '../model/paths.ts';
import type { RunRef } from '../model/paths.ts';
import { runRecordSchema } from '../model/run.ts';
import type { RunRecord } from '../model/run.ts';
import { dueField } from './due.ts';
import type { Transaction, Write } from './store.ts';

type States = NonNullable<Definition['states']>;

/** One entry of a run's history of business states: `runs/{id}/states/{key of the step}`. */
export const stateRecordSchema = z.strictObject({
  v: z.literal(1),
  state: z.string(),
  from: z.string().optional(),
  /** When it was entered. */
  at: z.number(),
  /** How long the state before it lasted, ms. */
  lastedMs: z.number().optional(),
  stepKey: z.string().optional(),
});
export type StateRecord = z.infer<typeof stateRecordSchema>;

const INITIAL = '$start';

/** Why a run may not enter a state now; undefined when it may. A state that it is in already is entered by doing nothing. */
export function stateFault(states: States, run: Pick<RunRecord, 'businessState'>, state: string): KilnError | undefined {
  const from = run.businessState ?? states.initial;
  if (from === state || (states.transitions[from] ?? []).includes(state)) return undefined;
  const allowed = (states.transitions[from] ?? []).map((name) => `"${name}"`).join(', ') || 'none';
  return new KilnError('state.not_allowed', `the run is "${from}" and cannot become "${state}"; allowed from there: ${allowed}`);
}

/** The documents of the state that a run begins in; part of the commit that begins it. */
export function initialState(
  ref: RunRef,
  states: States,
  now: number,
  state = states.initial,
): { readonly fields: object; readonly writes: readonly Write[] } {
  const data: StateRecord = { v: 1, state, at: now };
  return {
    fields: { businessState: state, stateSince: now },
    writes: [
      { op: 'create', path: paths.businessState(ref.accountId, ref.runId, INITIAL), data },
      ...watchWrites(ref, states, state, INITIAL, now),
    ],
  };
}

/** Part of the commit that ends the step which sets the state. @throws KilnError `state.not_allowed` */
export async function enterState(
  tx: Transaction,
  ref: RunRef,
  entered: { readonly states: States; readonly state: string; readonly stepKey: string },
  now: number,
): Promise<readonly Write[]> {
  const { states, state, stepKey } = entered;
  const path = paths.run(ref.accountId, ref.runId);
  const { docs } = await tx.get([path]);
  if (docs[0] === undefined) throw new KilnError('run.not_found', `run ${ref.runId} is missing`);
  const run = runRecordSchema.parse(docs[0].data);
  const fault = stateFault(states, run, state);
  if (fault !== undefined) throw fault;
  const from = run.businessState ?? states.initial;
  if (from === state) return [];
  return changedState(ref, { states, state, from, since: run.stateSince ?? run.startedAt, stepKey }, now);
}

export interface ChangedState {
  readonly states: States | undefined;
  readonly state: string;
  readonly from: string | undefined;
  readonly since: number | undefined;
  /** What entered it; names the entry of the history. */
  readonly stepKey: string;
}

/** The documents of a change of state. */
export function changedState(ref: RunRef, { states, state, from, since, stepKey }: ChangedState, now: number): readonly Write[] {
  const data: StateRecord = {
    v: 1,
    state,
    at: now,
    ...(from === undefined ? {} : { from }),
    ...(since === undefined ? {} : { lastedMs: now - since }),
    stepKey,
  };
  return [
    { op: 'update', path: paths.run(ref.accountId, ref.runId), data: { businessState: state, stateSince: now } },
    { op: 'create', path: paths.businessState(ref.accountId, ref.runId, stepKey), data },
    ...(states === undefined ? [] : watchWrites(ref, states, state, stepKey, now)),
  ];
}

function watchWrites(ref: RunRef, states: States, state: string, stepKey: string, now: number): readonly Write[] {
  const limit = states.deadlines?.[state];
  if (limit === undefined) return [];
  const at = now + parseDuration(limit, `states.deadlines.${state}`);
  return [watchWrite({ v: 1, ...refOf(ref), kind: 'state', businessState: state, since: now, at }, stepKey)];
}

/** A run that takes longer than its workflow allows for is looked at when that time is over. */
export function overdueWatch(ref: RunRef, alerts: Definition['alerts'], createdAt: number): readonly Write[] {
  if (alerts?.after === undefined) return [];
  const at = createdAt + parseDuration(alerts.after, 'alerts.after');
  return [watchWrite({ v: 1, ...refOf(ref), kind: 'run', since: createdAt, at }, '$run')];
}

function refOf({ accountId, runId }: RunRef): RunRef {
  return { accountId, runId };
}

function watchWrite(watch: WatchRecord, name: string): Write {
  const data: WatchRecord = { ...watch, due: dueField(watch.runId, watch.at) };
  return { op: 'create', path: paths.watch(watch.accountId, `${watch.runId}~${name}`), data };
}
