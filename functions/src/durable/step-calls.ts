import { parseDate, parseDuration } from '../engine/duration.ts';
import { canonicalJson, digest, parseJson } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import { retryPolicySchema } from '../engine/retry.ts';
import { changedState } from '../ledger/business-states.ts';
import { runSource } from '../ledger/event-match.ts';
import { eventRecord } from '../ledger/events.ts';
import { storePayload } from '../ledger/payloads.ts';
import { KilnError } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import { idempotencyKey } from '../runner/perform.ts';
import { approvalConfig, approvalReading } from './approval-call.ts';
import { asItIs } from './call.ts';
import type { Reading, Work } from './call.ts';
import { checkName } from './names.ts';
import type { Execution } from './replay.ts';
import type {
  DocumentWait,
  EventWait,
  InvokeOptions,
  OutgoingEvent,
  RunOptions,
  StepApi,
  StepContext,
  StepOptions,
  UndoContext,
  Winner,
} from './step-api.ts';
import type { StepTransaction } from './step-transaction.ts';

const DEFAULT_WAIT = '30d';
const DEFAULT_LOOK = '5m';

/** The `step` of one execution. */
export function createStepApi(execution: Execution): StepApi {
  const call = (name: string, type: string, work: Work, reading: Reading = asItIs): Promise<never> =>
    // What was recorded is what the signature says, up to what JSON carries.
    execution.call(checkName(name, 'a step'), { type, work, reading }) as Promise<never>;
  const passing = (name: string, type: string, make: (key: string) => Json): Json =>
    parseJson(execution.passing(name, type, (key) => canonicalJson(make(key))).json);
  return {
    run: (name: string, ...rest: unknown[]) => {
      const { options, fn } = optionsAndFunction(name, rest);
      return call(name, 'run', { kind: 'run', options, fn: fn as (context: StepContext) => unknown });
    },
    transaction: (name: string, ...rest: unknown[]) => {
      const { options, fn } = optionsAndFunction(name, rest);
      return call(name, 'transaction', { kind: 'transaction', options, fn: fn as (tx: StepTransaction) => unknown });
    },
    sleep: (name, duration) =>
      call(name, 'sleep', { kind: 'sleep', end: { after: parseDuration(duration, `${name}: duration`) } }, nothing),
    sleepUntil: (name, date) => call(name, 'sleep', { kind: 'sleep', end: { at: dateOf(date, `${name}: date`) } }, nothing),
    waitForEvent: (name, wait) => call(name, 'wait', typeWork('wait', eventConfig(name, wait)), eventReading),
    waitForApproval: (name, options) => call(name, 'approval', typeWork('approval', approvalConfig(name, options)), approvalReading),
    waitForDocument: (path, predicate, options = {}) =>
      call(options.name ?? documentName(path), 'document', documentWork(path, predicate, options)),
    recipe: (name, config) => call(name, 'recipe', typeWork('recipe', config)),
    use: (name, type, config) => call(name, checkName(type, 'a step type'), typeWork(type, config)),
    invoke: (name: string, workflow: string | { readonly id: string }, input: unknown, options: InvokeOptions = {}) => {
      const config = { workflow: idOf(workflow), ...(options.version === undefined ? {} : { version: options.version }) };
      return call(name, 'subworkflow', typeWork('subworkflow', config, asJson(input)));
    },
    startRun: (name: string, workflow: string | { readonly id: string }, input: unknown, options: InvokeOptions = {}) =>
      call(name, 'start_run', { kind: 'start_run', workflowId: idOf(workflow), input: asJson(input), version: options.version }),
    sendEvent: async (name, event) => sendEvent(execution, checkName(name, 'a step'), event),
    race: (branches) => race(execution, branches),
    now: () => Number(passing('now', '$now', () => execution.sources.now())),
    random: () => Number(passing('random', '$random', () => execution.sources.random())),
    uuid: () => passing('uuid', '$uuid', () => execution.sources.uuid()) as string,
    patched: (id) => execution.patched(checkName(id, 'a patch')),
    onCompensate: (name: string, ...rest: unknown[]) => {
      const { options, fn } = optionsAndFunction(name, rest);
      const { key } = execution.passing(checkName(name, 'a compensation'), '$undo', () => 'null');
      execution.compensations.push({ key, options, fn: fn as (context: UndoContext) => unknown });
    },
    idempotencyKey: (name) => idempotencyKey(execution.run.id, name),
    setState: (state) => setState(execution, state),
  };
}

function typeWork(type: string, config: object, input: Json = {}): Work {
  const { retry, timeout, ...own } = config as { retry?: StepOptions['retry']; timeout?: StepOptions['timeout'] };
  // A wait's own `timeout` is part of its configuration; elsewhere it limits one attempt.
  const options = { ...(retry === undefined ? {} : { retry }), ...(timeout === undefined || type === 'wait' ? {} : { timeout }) };
  return {
    kind: 'type',
    options: checkedOptions(type, options),
    config: { type, ...own, ...(type === 'wait' && timeout !== undefined ? { timeout } : {}) },
    input,
  };
}

/** The overloads of the signature say what the function takes. */
function optionsAndFunction(name: string, rest: readonly unknown[]): { options: RunOptions; fn: (context: never) => unknown } {
  const [first, second] = rest;
  const fn = typeof first === 'function' ? first : second;
  if (typeof fn !== 'function') throw new KilnError('code.name_invalid', `step "${name}" has no function to run`);
  const options = typeof first === 'function' ? {} : (first ?? {});
  return { options: checkedOptions(name, options), fn: fn as (context: never) => unknown };
}

/** Mistakes in options show where the step is called, not when it is first tried again. */
function checkedOptions<O extends StepOptions>(name: string, options: O): O {
  if (options.timeout !== undefined) parseDuration(options.timeout, `${name}: timeout`);
  const retry = options.retry === undefined ? undefined : retryPolicySchema.safeParse(options.retry);
  if (retry?.success === false)
    throw new KilnError(
      'request.invalid',
      `${name}: retry: ${retry.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ')}`,
    );
  return options;
}

const nothing: Reading = { value: () => undefined };

const eventReading: Reading = {
  value: (json) =>
    typeof json === 'object' && json !== null && !Array.isArray(json) && json['timedOut'] !== true ? (json['event'] ?? null) : null,
};

function eventConfig(name: string, { event, timeout = DEFAULT_WAIT, ...rest }: EventWait): object {
  parseDuration(timeout, `${name}: timeout`);
  return { event: { name: event, ...rest }, timeout };
}

function documentWork(path: string, predicate: Extract<Work, { kind: 'document' }>['predicate'], options: DocumentWait): Work {
  if (!/^[^/]+\/[^/]+(?:\/[^/]+\/[^/]+)*$/.test(path))
    throw new KilnError('request.invalid', `waitForDocument: "${path}" is not the path of a document`);
  const timeoutMs = parseDuration(options.timeout ?? DEFAULT_WAIT, 'waitForDocument: timeout');
  return {
    kind: 'document',
    path,
    predicate,
    timeoutMs,
    everyMs: Math.max(1_000, parseDuration(options.every ?? DEFAULT_LOOK, 'waitForDocument: every')),
  };
}

/** A name that is the same for the same path. */
function documentName(path: string): string {
  const readable = path
    .replaceAll('/', ':')
    .replaceAll(/[^A-Za-z0-9_.:@-]/g, '_')
    .slice(0, 80);
  return `document:${readable}:${digest(path).slice(0, 8)}`;
}

function dateOf(date: Date | string, path: string): number {
  if (!(date instanceof Date)) return parseDate(date, path);
  if (Number.isNaN(date.getTime())) throw new KilnError('date.invalid', `${path} is an invalid Date`);
  return date.getTime();
}

function idOf(workflow: string | { readonly id: string }): string {
  return typeof workflow === 'string' ? workflow : workflow.id;
}

function asJson(value: unknown): Json {
  return parseJson(canonicalJson(value));
}

function sendEvent(execution: Execution, name: string, { event, key, runId, payload = null }: OutgoingEvent): { eventId: string } {
  const { run } = execution;
  const text = canonicalJson(payload);
  const recorded = execution.passing(name, '$send', (entryKey) => canonicalJson({ eventId: digest(`${run.id}/${entryKey}`).slice(0, 32) }));
  const { eventId } = parseJson(recorded.json) as { eventId: string };
  if (!recorded.fresh) return { eventId };
  const stored = storePayload({ accountId: run.accountId, runId: eventId }, '$event', text);
  const sent = {
    eventId,
    name: event,
    payload,
    source: runSource(run.id),
    ...(key === undefined ? {} : { key }),
    ...(runId === undefined ? {} : { runId }),
  };
  // `set`: the commit may be repeated after its answer was lost; the id makes it the same event.
  execution.effects.push(
    {
      op: 'set',
      path: paths.event(run.accountId, eventId),
      data: eventRecord(run.accountId, sent, stored.payload, execution.sources.now()),
    },
    ...stored.writes,
  );
  return { eventId };
}

function setState(execution: Execution, state: string): void {
  const { run, workflow } = execution;
  const { states } = workflow;
  const before = execution.businessState ?? (states === undefined ? undefined : { state: states.initial, since: undefined });
  const allowed = before === undefined ? undefined : states?.transitions[before.state];
  if (states !== undefined && allowed?.includes(state) !== true) {
    throw new KilnError(
      'request.invalid',
      `the business state "${state}" may not follow "${before?.state ?? ''}"; allowed: ${allowed?.join(', ') ?? 'none'}`,
    );
  }
  const { key, json, fresh } = execution.passing('state', '$state', () => canonicalJson({ state, at: execution.sources.now() }));
  const { at: since } = parseJson(json) as { at: number };
  execution.businessState = { state, since };
  if (!fresh) {
    execution.recordedState = state;
    return;
  }
  const changed = { states, state, from: before?.state, since: before?.since, stepKey: key };
  const writes = changedState({ accountId: run.accountId, runId: run.id }, changed, since);
  // `set`, as the commit may be repeated after its answer was lost.
  execution.effects.push(...writes.map((write) => (write.op === 'create' ? { ...write, op: 'set' as const } : write)));
}

function race<B extends Readonly<Record<string, Promise<unknown>>>>(execution: Execution, branches: B): Promise<Winner<B>> {
  const calls = Object.entries(branches).map(([name, promise]) => {
    const call = execution.callOf(promise);
    if (call === undefined) throw new KilnError('request.invalid', `step.race takes the steps themselves; "${name}" is something else`);
    return { name, call };
  });
  let open = true;
  const close = (): boolean => {
    if (!open) return false;
    open = false;
    for (const { call } of calls) if (call.state === 'pending') call.state = 'abandoned';
    return true;
  };
  return new Promise((resolve, reject) => {
    for (const { name, call } of calls) {
      call.promise.then(
        (value) => void (close() && resolve({ winner: name, value } as Winner<B>)),
        (error: unknown) => void (close() && reject(error instanceof Error ? error : new Error(String(error)))),
      );
    }
  });
}
