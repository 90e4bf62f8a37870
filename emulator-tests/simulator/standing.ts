import type { CommandRecord } from '../../functions/src/model/command.ts';
import { terminalRunStatuses } from '../../functions/src/model/run.ts';
import type { RunRecord } from '../../functions/src/model/run.ts';
import { isLive } from '../../functions/src/model/step.ts';
import type { StepRecord } from '../../functions/src/model/step.ts';
import type { MemoryStore } from '../../functions/src/ledger/memory-store.ts';
import type { Snapshot } from '../../functions/src/ledger/store.ts';
import type { Outside } from './services.ts';
import { Violation } from './violation.ts';

/** Every document, sorted by what it is. */
export class Standing {
  readonly docs = new Map<string, Snapshot[]>();
  readonly steps = new Map<string, StepRecord[]>();

  constructor(store: MemoryStore) {
    for (const doc of store.all()) {
      const collection = doc.path.split('/').at(-2) ?? '';
      const list = this.docs.get(collection);
      if (list === undefined) this.docs.set(collection, [doc]);
      else list.push(doc);
      if (collection !== 'steps') continue;
      const run = doc.path.split('/').slice(0, 4).join('/');
      const record = doc.data as unknown as StepRecord;
      const steps = this.steps.get(run);
      if (steps === undefined) this.steps.set(run, [record]);
      else steps.push(record);
    }
  }

  all(collection: string): readonly Snapshot[] {
    return this.docs.get(collection) ?? [];
  }

  runs(): readonly RunRecord[] {
    return this.all('runs').map(({ data }) => data as unknown as RunRecord);
  }

  stepsOf(run: RunRecord): readonly StepRecord[] {
    return this.steps.get(`accounts/${run.accountId}/runs/${run.runId}`) ?? [];
  }

  liveSteps(run: RunRecord): readonly StepRecord[] {
    return this.stepsOf(run).filter((step) => isLive(step.state));
  }

  doc(collection: string, path: string): Snapshot | undefined {
    return this.all(collection).find((doc) => doc.path === path);
  }
}

const needsDue: Readonly<Record<string, (data: Readonly<Record<string, unknown>>) => boolean>> = {
  requests: (data) => data['status'] === 'pending',
  commands: (data) => data['status'] === 'pending',
  events: (data) => data['state'] === 'new',
  outbox: (data) => data['state'] === 'queued' || data['state'] === 'sending',
};

/** Holds whenever no handler is under way: each thing that is not at its end is found by the reconciler, or waits for a person. */
export function wakerProblems(standing: Standing): readonly Violation[] {
  const found: Violation[] = [];
  const broken = (message: string): void => void found.push(new Violation('everything that waits has a waker', message));
  for (const run of standing.runs()) {
    const name = `${run.accountId}/${run.runId}`;
    if (terminalRunStatuses.has(run.status)) continue;
    if (run.status === 'pending' || run.status === 'cancelling') {
      if (run.due === undefined) broken(`run ${name} is ${run.status} and nobody will look at it`);
      continue;
    }
    // Paused before it began: whoever resumes it begins it.
    if (run.status === 'paused' && run.startedAt === undefined) continue;
    const live = standing.liveSteps(run);
    if (live.length === 0 && run.status !== 'needs_resolution' && run.status !== 'diverged')
      broken(`run ${name} is ${run.status} without a live step`);
    for (const step of live) {
      const reason = sleeps(standing, run, step, live);
      if (reason !== undefined) broken(`${name} ${step.key} ${reason}`);
    }
  }
  for (const [collection, needs] of Object.entries(needsDue)) {
    for (const { path, data } of standing.all(collection))
      if (needs(data) && data['due'] === undefined) broken(`${path} is pending and not due`);
  }
  const judged = new Set(standing.all('verdicts').map(({ path }) => path.replace('/verdicts/', '/decisions/')));
  for (const { path, data } of standing.all('decisions'))
    if (!judged.has(path) && data['due'] === undefined) broken(`${path} is not judged and not due`);
  return found;
}

/** Why nothing will wake a live step; undefined when something will. */
function sleeps(standing: Standing, run: RunRecord, step: StepRecord, live: readonly StepRecord[]): string | undefined {
  const begins = step.state === 'ready' || step.wait?.kind === 'retry' || step.wait?.kind === 'slot';
  if (begins && step.gate === 'paused') return run.status === 'paused' ? undefined : `is paused in a run that is ${run.status}`;
  if (step.due !== undefined || step.state === 'unresolved') return undefined;
  if (step.wait?.kind === 'children') {
    const inside = live.some(({ key }) => key.startsWith(`${step.key}[`) || key.startsWith(`${step.key}.`));
    return inside ? undefined : 'waits for lanes that have all ended';
  }
  if (step.wait?.kind === 'run') {
    const child = standing.doc('runs', `accounts/${run.accountId}/runs/${step.wait.runId}`)?.data as RunRecord | undefined;
    if (child !== undefined && !terminalRunStatuses.has(child.status)) return undefined;
    const completion = standing.doc('completions', `accounts/${run.accountId}/completions/${step.wait.runId}`);
    return completion?.data['due'] === undefined ? 'waits for a child run that has ended' : undefined;
  }
  return `is ${step.state} ${step.wait?.kind ?? ''} and not due`;
}

/** Holds at the very end, when the faults are over and nothing is left to do. */
export function leftovers(standing: Standing, outside: Outside): readonly Violation[] {
  const found: Violation[] = [];
  const left = (message: string): void => void found.push(new Violation('nothing is left over', message));
  for (const run of standing.runs()) {
    const name = `${run.accountId}/${run.runId}`;
    if (!terminalRunStatuses.has(run.status)) {
      const live = standing.liveSteps(run).map((step) => `${step.key} ${step.state} ${step.wait?.kind ?? ''} ${step.gate}`);
      found.push(new Violation('everything ends', `run ${name} is still ${run.status}: ${live.join(', ') || 'no live step'}`));
      continue;
    }
    for (const step of standing.liveSteps(run)) left(`${name} has ended (${run.status}), its step ${step.key} is ${step.state}`);
    if (run.pendingApprovals !== 0)
      found.push(new Violation('counters are right', `${name} counts ${run.pendingApprovals} open approvals`));
    const completion = standing.doc('completions', `accounts/${run.accountId}/completions/${run.runId}`);
    if (completion === undefined) found.push(new Violation('the end of a run is announced once', `${name} ended in silence`));
    else if (completion.data['status'] !== run.status) {
      found.push(
        new Violation('the end of a run is announced once', `${name} is ${run.status}, announced as ${String(completion.data['status'])}`),
      );
    }
    const counted = standing.stepsOf(run).filter((step) => step.type === 'transaction' && step.state === 'succeeded').length;
    const counter = Number(standing.doc('counters', `accounts/${run.accountId}/counters/${run.runId}`)?.data['n'] ?? 0);
    if (counter !== counted) found.push(new Violation('counters are right', `${name} counted to ${counter} in ${counted} transactions`));
    if ((outside.followed.get(name) ?? 0) === 0) left(`nobody was told that ${name} ended`);
  }
  for (const { path, data } of standing.all('approvals')) if (data['status'] === 'pending') left(`${path} is still open`);
  for (const { path, data } of standing.all('waits')) if (data['state'] === 'open') left(`${path} is still open`);
  for (const { path, data } of standing.all('outbox'))
    if (data['state'] !== 'sent') left(`${path} is ${String(data['state'])} ${JSON.stringify(data['error'])}`);
  for (const { path, data } of standing.all('requests')) if (data['status'] !== 'started') left(`${path} is ${String(data['status'])}`);
  for (const docs of standing.docs.values()) for (const { path, data } of docs) if (data['due'] !== undefined) left(`${path} is still due`);
  found.push(...commandProblems(standing));
  return found;
}

/** What a command says of itself agrees with what became of the run. */
function commandProblems(standing: Standing): readonly Violation[] {
  return standing.all('commands').flatMap(({ path, data }) => {
    const command = data as unknown as CommandRecord;
    const run = standing.doc('runs', path.split('/').slice(0, 4).join('/'))?.data as RunRecord | undefined;
    if (run === undefined || command.kind !== 'cancel')
      return command.status === 'pending' ? [new Violation('nothing is left over', `${path} is pending`)] : [];
    const its = run.status === 'cancelled' && run.error?.message.includes(`by ${command.by}: ${command.reason}`) === true;
    if (its === (command.status === 'done')) return [];
    return [
      new Violation(
        'a command’s answer is what happened',
        `${path} is ${command.status} (${command.result ?? ''}), the run ${run.status} ${run.error?.message ?? ''}`,
      ),
    ];
  });
}
