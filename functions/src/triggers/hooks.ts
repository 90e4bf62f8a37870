import { canonicalJson, digest, parseJson } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import { resolveTemplates } from '../engine/templates.ts';
import { eventRecord } from '../ledger/events.ts';
import { storePayload } from '../ledger/payloads.ts';
import { StoreConflict } from '../ledger/store.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import { hookRecordSchema } from '../model/hook.ts';
import type { HookRecord } from '../model/hook.ts';
import { idPattern, paths } from '../model/paths.ts';
import { startRun } from '../runner/runs.ts';
import type { Runtime } from '../runner/runtime.ts';
import { verifyWebhook, webhookSchemeSchema } from '../services/webhooks/verify.ts';
import type { VerifiedWebhook } from '../services/webhooks/verify.ts';
import { overRate } from './hook-rate.ts';

export interface HookRequest {
  readonly accountId: string;
  readonly hookId: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly rawBody: Uint8Array;
}

export interface HookAnswer {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

const DEFAULT_MAX_BYTES = 1024 * 1024;

/** Unknown hooks and bad signatures are answered alike. */
const refused: HookAnswer = {
  status: 401,
  body: { error: { code: 'auth.required', message: 'the request is not signed as this address expects' } },
};

/** Verifies a delivery over its raw bytes, stores what it causes, and only then answers 202. */
export async function receiveHook(runtime: Runtime, request: HookRequest): Promise<HookAnswer> {
  if (!idPattern.test(request.accountId) || !idPattern.test(request.hookId)) return refused;
  const { docs } = await runtime.store.get([paths.hook(request.accountId, request.hookId)]);
  const hook = docs[0] === undefined ? undefined : hookRecordSchema.parse(docs[0].data);
  if (hook?.active !== true) return refused;
  if (request.rawBody.byteLength > (hook.maxBytes ?? DEFAULT_MAX_BYTES)) {
    return {
      status: 413,
      body: { error: { code: 'payload.too_large', message: `the body is over ${hook.maxBytes ?? DEFAULT_MAX_BYTES} bytes` } },
    };
  }
  const keys = hook.keys.map((name) => runtime.services.secrets?.get(name)).filter((key) => key !== undefined);
  const verdict = verifyWebhook(request, {
    scheme: webhookSchemeSchema.parse(hook.scheme),
    keys,
    now: runtime.clock.now(),
    ...(hook.contentType === undefined ? {} : { contentType: hook.contentType }),
  });
  if (!verdict.ok) return refused;
  if (!wants(hook.events, verdict) || !wants(declaredEvents(runtime, hook), verdict)) {
    return { status: 202, body: { ignored: true, event: verdict.eventName ?? null } };
  }
  const waitMs = await overRate(runtime, hook);
  if (waitMs !== undefined) {
    return {
      status: 429,
      headers: { 'Retry-After': String(Math.max(1, Math.ceil(waitMs / 1_000))) },
      body: { error: { code: 'http.rate_limited', message: 'too many deliveries at this address; send it again later' } },
    };
  }
  try {
    const payload = parseJson(new TextDecoder('utf-8', { fatal: true }).decode(request.rawBody));
    return await accept(runtime, hook, verdict, payload, chainDepthOf(request));
  } catch (error) {
    if (error instanceof TypeError)
      return { status: 400, body: { error: { code: 'payload.invalid_json', message: 'the body is not UTF-8' } } };
    if (!(error instanceof KilnError)) throw error;
    const { code, message } = toErrorRecord(error);
    return { status: statusOf(error), body: { error: { code, message } } };
  }
}

function wants(events: readonly string[] | undefined, { eventName }: VerifiedWebhook): boolean {
  return events === undefined || (eventName !== undefined && events.includes(eventName));
}

/** The event names that the code of the hook's workflow is started by; undefined: by each. */
function declaredEvents({ code }: Runtime, { target, scheme }: HookRecord): readonly string[] | undefined {
  if (target.kind !== 'start') return undefined;
  const { kind } = webhookSchemeSchema.parse(scheme);
  const declared = code
    .triggers()
    .flatMap(({ workflowId, trigger }) =>
      workflowId === target.workflowId && trigger.kind === 'webhook' && trigger.scheme.kind === kind ? [trigger.events] : [],
    );
  return declared.length === 0 || declared.includes(undefined) ? undefined : declared.flatMap((events) => events ?? []);
}

/** Trying again does not help with what the sender sent, nor while systems call each other in circles. */
function statusOf({ code }: KilnError): number {
  if (code === 'run.too_deep') return 508;
  return code === 'definition.not_found' ? 422 : 400;
}

/** How many runs led to this delivery, as another Kiln says. It can only make the chain longer, so it needs no trust. */
function chainDepthOf({ headers }: HookRequest): number {
  const value = headers['kiln-chain-depth'];
  return typeof value === 'string' && /^\d{1,3}$/.test(value) ? Number(value) + 1 : 0;
}

/** The sender's delivery id is the start key or event id: a repeated delivery is the same run or event. */
async function accept(
  runtime: Runtime,
  hook: HookRecord,
  verdict: VerifiedWebhook,
  payload: Json,
  chainDepth: number,
): Promise<HookAnswer> {
  const { accountId, hookId, target } = hook;
  const delivery = verdict.deliveryId ?? digest(canonicalJson(payload));
  if (target.kind === 'start') {
    const started = await startRun(runtime, {
      accountId,
      workflowId: target.workflowId,
      input: payload,
      startedBy: { kind: 'webhook', id: hookId },
      startKey: `hook:${hookId}:${delivery}`,
      policy: { restartFailed: false },
      chainDepth,
      tainted: true,
    });
    return { status: 202, body: { runId: started.runId, duplicate: started.reused } };
  }
  const eventId = `hook-${digest(`${hookId}/${delivery}`).slice(0, 32)}`;
  const key = target.key === undefined ? undefined : eventKey(target.key, payload);
  const stored = storePayload({ accountId, runId: eventId }, '$event', canonicalJson(payload));
  const event = {
    eventId,
    name: target.name,
    payload,
    source: `hook:${hookId}`,
    tainted: true,
    chainDepth,
    ...(key === undefined ? {} : { key }),
  } as const;
  const record = eventRecord(accountId, event, stored.payload, runtime.clock.now());
  try {
    await runtime.store.commit([{ op: 'create', path: paths.event(accountId, eventId), data: record }, ...stored.writes]);
  } catch (error) {
    if (!(error instanceof StoreConflict)) throw error;
    return { status: 202, body: { eventId, duplicate: true } };
  }
  return { status: 202, body: { eventId, duplicate: false } };
}

/** The correlation key, as text: a number or an object in the body becomes its JSON. */
function eventKey(template: string, payload: Json): string {
  const value = resolveTemplates(template, (reference) => (reference.root === 'workflow_input' ? payload : undefined), {
    keepSecrets: false,
  });
  return typeof value === 'string' ? value : canonicalJson(value);
}
