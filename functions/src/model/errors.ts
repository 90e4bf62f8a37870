import { z } from 'zod';

/**
 * How the engine treats an error.
 * - `retryable`: try again under the step's retry policy (429, 5xx, timeouts, connection errors)
 * - `not_retryable`: trying again cannot help (other 4xx, validation, a mistake in the definition)
 * - `business`: a named business exception; takes the `onException` path and is never retried
 * - `unknown_outcome`: the effect may or may not have happened; never repeated silently
 */
export const errorClasses = ['retryable', 'not_retryable', 'business', 'unknown_outcome'] as const;
export type ErrorClass = (typeof errorClasses)[number];

interface CodeEntry {
  readonly class: ErrorClass;
  /** What it means and what to do next, for the person who reads it. */
  readonly help: string;
}

/** Every stable error code. The documentation's table is generated from here. */
export const errorCodes = {
  // template
  'template.syntax': {
    class: 'not_retryable',
    help: 'The text between {{ and }} is not a reference. Write {{workflow_input.a.b}}, {{step.id.path}}, {{loop_item.field}} or {{secret.NAME}}.',
  },
  'template.missing_path': {
    class: 'not_retryable',
    help: 'The value has no such path. Use the nearest key that the message names, or declare a default: {{step.id.path | default: "x"}}.',
  },
  'template.missing_step': {
    class: 'not_retryable',
    help: 'No step of that id can be seen from here, or it did not run. Reference an earlier step of the same or an outer list.',
  },
  'template.too_large': {
    class: 'not_retryable',
    help: 'The filled-in text is over its limit. Insert less, or pass the value whole as an input instead of inside text.',
  },
  // condition
  'condition.syntax': { class: 'not_retryable', help: 'The expression is not valid CEL. See the guide to conditions.' },
  'condition.type': { class: 'not_retryable', help: 'The expression must yield true or false, and its operands must fit each other.' },
  'condition.failed': {
    class: 'not_retryable',
    help: 'The expression could not be evaluated on these values, often because a field is missing. Test it with has(…) first.',
  },
  // payload
  'payload.unsupported': {
    class: 'not_retryable',
    help: 'The value cannot be written as JSON (undefined in a list, NaN, Infinity, BigInt, Date, Map, Set, function, class instance or a cycle). Convert it before returning it.',
  },
  'payload.too_large': { class: 'not_retryable', help: 'The value is over 8 MiB. Store it elsewhere and return a reference.' },
  'payload.too_deep': { class: 'not_retryable', help: 'The value is nested deeper than 100 levels. Flatten it.' },
  'payload.invalid_json': { class: 'not_retryable', help: 'The text is not JSON. Send a JSON document in UTF-8.' },
  // schema
  'schema.mismatch': { class: 'not_retryable', help: 'The value does not match the declared JSON Schema. The message lists each place.' },
  'schema.invalid': { class: 'not_retryable', help: 'The declared JSON Schema is not usable. See the message.' },
  // definition
  'definition.invalid': { class: 'not_retryable', help: 'The workflow definition has problems; all of them are listed.' },
  'definition.corrupted': {
    class: 'not_retryable',
    help: 'The stored version no longer matches its hash: somebody changed it in the database. Restore it, or publish the definition again and fork the run onto the new version.',
  },
  'definition.not_found': {
    class: 'not_retryable',
    help: 'No such workflow or version in this account. Publish it first, or check the id.',
  },
  'preflight.failed': {
    class: 'not_retryable',
    help: 'The run was rejected before its first step; every problem is listed. Fix them and start again.',
  },
  // duration and time
  'duration.invalid': {
    class: 'not_retryable',
    help: 'A duration is a number of milliseconds or text such as "90s", "15m", "24h", "7d", "2w".',
  },
  'date.invalid': { class: 'not_retryable', help: 'A date is ISO 8601 text with a zone, such as 2026-12-24T18:00:00Z.' },
  'schedule.invalid': { class: 'not_retryable', help: 'The cron expression or the time zone is not valid.' },
  // step
  'step.timeout': { class: 'retryable', help: 'The attempt took longer than the step’s timeout. Raise it or make the call faster.' },
  'step.exceeds_limit': {
    class: 'not_retryable',
    help: 'The attempts were ended by the platform before they returned. The step needs longer than a function may run: split it, or lower its timeout.',
  },
  'step.lost': {
    class: 'unknown_outcome',
    help: 'The process died during the attempt. Nobody knows whether the effect happened. Check the target, then settle the step; or declare the step idempotent so that it is repeated.',
  },
  'step.rejected': { class: 'business', help: 'A person rejected the request.' },
  'step.action_unknown': { class: 'not_retryable', help: 'No action of that name is registered in the deployed code.' },
  'step.failed': { class: 'not_retryable', help: 'The step’s own code threw an error. See the message and the attempt.' },
  'step.branch_failed': { class: 'not_retryable', help: 'A branch of a parallel step failed; the message names it.' },
  'step.iteration_failed': { class: 'not_retryable', help: 'An iteration of a loop failed; the message names it.' },
  'step.child_failed': { class: 'not_retryable', help: 'The child run did not complete. Open it to see why.' },
  'step.unknown_type': { class: 'not_retryable', help: 'The deployed code does not know this step type. Deploy the version that does.' },
  'loop.not_a_list': { class: 'not_retryable', help: 'The loop’s source is not a list. The message names the path and what is there.' },
  'loop.too_many_items': {
    class: 'not_retryable',
    help: 'The list is longer than the loop allows. Raise maxItems or page through the source.',
  },
  'wait.timeout': {
    class: 'business',
    help: 'The event did not come before the wait’s timeout. Handle it with onException, or leave onTimeout at its default.',
  },
  'approval.too_many': { class: 'not_retryable', help: 'A request asks at most 200 people. Name a smaller role or department.' },
  'approval.expired': { class: 'business', help: 'Nobody decided before the deadline.' },
  'approval.no_eligible': {
    class: 'not_retryable',
    help: 'No member may decide this request. Check roles, departments and the four-eyes rule.',
  },
  // run
  'run.deadline': { class: 'not_retryable', help: 'The run’s wall-clock deadline passed.' },
  'run.active_timeout': {
    class: 'not_retryable',
    help: 'The run was active for longer than its limit (waiting does not count). Raise timeout in the definition.',
  },
  'run.too_many_steps': { class: 'not_retryable', help: 'The run reached its limit of steps. Raise limits.maxSteps if that is intended.' },
  'run.too_deep': { class: 'not_retryable', help: 'Runs started runs more than 8 levels deep. Break the chain.' },
  'run.cancelled': { class: 'not_retryable', help: 'An operator or the parent run cancelled it.' },
  'run.not_compensated': {
    class: 'not_retryable',
    help: 'Some effects of the run stand: they could not be undone, and a person left them as they are. The run lists the steps.',
  },
  'run.not_found': { class: 'not_retryable', help: 'No such run in this account.' },
  'run.diverged': {
    class: 'not_retryable',
    help: 'The code no longer matches what the run has recorded. Fork the run onto the new code, or deploy the old one.',
  },
  'state.not_allowed': {
    class: 'not_retryable',
    help: 'The workflow declares no transition from the present business state to this one. Correct states.transitions, or the order of the steps.',
  },
  'command.refused': {
    class: 'not_retryable',
    help: 'The run or step does not take this command in its present state; the message says why. Look again: others may have been quicker.',
  },
  // code workflows
  'code.name_invalid': {
    class: 'not_retryable',
    help: 'Names of steps become document ids. Use letters, digits, "_", "-", ".", ":" and "@", at most 120, and begin with a letter or digit.',
  },
  'code.name_twice': {
    class: 'not_retryable',
    help: 'Two steps of the same name were under way at the same time, so their results could not be told apart. Put what tells them apart into the name.',
  },
  'code.outside': {
    class: 'not_retryable',
    help: 'A step was called from inside another step, after the run function had ended, or after an await on something that is no step. Put I/O into step.run, and await every step.',
  },
  'code.foreign_await': {
    class: 'not_retryable',
    help: 'The run function waits for something that is no step (fetch, a timer, a database read). Put it into step.run, so that it is remembered and not repeated on each replay.',
  },
  'code.threw': { class: 'not_retryable', help: 'The workflow’s run function threw an error outside of its steps. See the message.' },
  'code.too_many_at_once': {
    class: 'not_retryable',
    help: 'Too many steps were started at the same time. Work through the list in batches, or give each item a run of its own with step.startRun.',
  },
  'code.path_reserved': {
    class: 'not_retryable',
    help: 'The engine’s own documents can only be changed by the engine. Write to the team’s own collections.',
  },
  'code.version_missing': {
    class: 'not_retryable',
    help: 'The deployed code has no such version of the workflow. Register the old version beside the new one, or fork the run onto the new one.',
  },
  // outside calls
  'http.client_error': { class: 'not_retryable', help: 'The target refused the request (4xx). See the recorded response.' },
  'http.server_error': { class: 'retryable', help: 'The target failed (5xx). It is tried again under the step’s policy.' },
  'http.rate_limited': { class: 'retryable', help: 'The target asked to slow down (429). Retry-After is honoured.' },
  'http.connection': {
    class: 'retryable',
    help: 'The connection could not be made, or it broke on a request that may safely be repeated.',
  },
  'http.interrupted': { class: 'unknown_outcome', help: 'The connection broke after the request was sent; it may have taken effect.' },
  'http.blocked_address': {
    class: 'not_retryable',
    help: 'The address is private, loopback, link-local or a metadata service. Only public addresses are called.',
  },
  'http.too_large': { class: 'not_retryable', help: 'The response is over its size limit.' },
  'http.redirect': {
    class: 'not_retryable',
    help: 'The target redirected too often, or in a way that would pass data on to another host. Call the final address directly.',
  },
  'http.invalid_response': {
    class: 'retryable',
    help: 'The answer is not of the protocol that was asked for. Check that the address is the right one.',
  },
  'http.unclear_answer': {
    class: 'unknown_outcome',
    help: 'The target took the request, but its answer is not of the declared form or size. Check the target, then settle the step.',
  },
  'webhook.refused': {
    class: 'retryable',
    help: 'The receiver did not accept the webhook. It is tried again for about a day, and can be sent again by hand.',
  },
  'llm.refused': {
    class: 'not_retryable',
    help: 'The model or its content filter refused to answer. Change the prompt, use another model, or let a person answer.',
  },
  'llm.truncated': { class: 'not_retryable', help: 'The answer hit its token limit and is incomplete. Raise maxTokens or ask for less.' },
  'recipe.not_found': {
    class: 'not_retryable',
    help: 'The account has no such recipe, or no such version of it. Publish it first, or check the id.',
  },
  'llm.quota': {
    class: 'not_retryable',
    help: 'The account at the model provider has no quota left. Add credit there; waiting does not help.',
  },
  'mcp.tool_missing': { class: 'not_retryable', help: 'The server offers no tool of that name. The message lists what it offers.' },
  'mcp.tool_not_allowed': {
    class: 'not_retryable',
    help: 'The tool is not on the server’s allow-list in this account. Add it there if it should be used.',
  },
  'mcp.tool_changed': {
    class: 'not_retryable',
    help: 'The tool’s name, description or arguments changed since it was approved. Look at the new description and approve it again.',
  },
  'mcp.tool_failed': {
    class: 'not_retryable',
    help: 'The tool ran and reported a failure of its own. With onToolError "continue" the run goes on with what it reported.',
  },
  'mcp.server_missing': {
    class: 'not_retryable',
    help: 'The account has no MCP server of that id. Add it, and approve the tools that may be called.',
  },
  'mcp.protocol': {
    class: 'not_retryable',
    help: 'The server refused the call, for example because the arguments do not fit. See the message.',
  },
  'notify.nobody': {
    class: 'not_retryable',
    help: 'Nobody who could be told is an active member of the account. Check names and departments, or invite them.',
  },
  'kb.missing': { class: 'not_retryable', help: 'No knowledge base is configured in this deployment.' },
  'kb.not_found': { class: 'not_retryable', help: 'The knowledge base has no document of that id. Correct the id, or add the document.' },
  'kb.too_large': { class: 'not_retryable', help: 'The document is over 400 KB of Markdown. Split it.' },
  'kb.conflict': { class: 'retryable', help: 'The document was changed by others at the same time. It is tried again.' },
  'secret.missing': { class: 'not_retryable', help: 'No secret of that name is configured. Set it with the Firebase CLI and redeploy.' },
  'secret.not_allowed': {
    class: 'not_retryable',
    help: 'Secrets may only be used in fields that go outside (headers, URL, arguments of calls).',
  },
  'secret.too_short': {
    class: 'not_retryable',
    help: 'The secret is too short to be told from ordinary text, so it could not be redacted. Use one of at least 6 characters.',
  },
  'limit.no_slot': { class: 'retryable', help: 'All slots of a concurrency limit are in use; the step is tried again shortly.' },
  'limit.unknown': {
    class: 'not_retryable',
    help: 'The account has no limit of that name. Add it to the account’s limits, or correct the name.',
  },
  'effect.unknown': {
    class: 'unknown_outcome',
    help: 'Another attempt claimed the same effect, and nobody knows whether it happened. Check the target, then settle the step that the message names, and this one.',
  },
  'effect.unconfirmed': {
    class: 'unknown_outcome',
    help: 'The check that looks up whether the effect happened failed itself. It is tried again; then a person has to look.',
  },
  'effect.busy': {
    class: 'not_retryable',
    help: 'Another run held the same effect for a week without settling it. Settle the step that the message names, then retry this one.',
  },
  'request.invalid': { class: 'not_retryable', help: 'The request is not of the expected form; the message lists what is wrong.' },
  'stored.newer_version': {
    class: 'retryable',
    help: 'A newer Kiln stored this document, and nothing is done to it here. Wait until the deployment is through; after going back to an earlier version, deploy the newer one again.',
  },
  'auth.required': { class: 'not_retryable', help: 'Sign in first.' },
  'auth.forbidden': { class: 'not_retryable', help: 'Your role in this account does not allow this.' },
  internal: { class: 'retryable', help: 'An unexpected fault in Kiln itself. It is retried; if it persists, report it with the run id.' },
} as const satisfies Record<string, CodeEntry>;

export type ErrorCode = keyof typeof errorCodes;

/** An error as it is stored and shown. `code` is a Kiln code, or the code of a business exception. */
export const errorRecordSchema = z.strictObject({
  code: z.string(),
  class: z.enum(errorClasses),
  message: z.string(),
  /** JSON-safe details: paths, HTTP status, the list of problems. */
  data: z.unknown().optional(),
  /** Milliseconds that the target asked to wait. */
  retryAfterMs: z.number().optional(),
});
export type ErrorRecord = z.infer<typeof errorRecordSchema>;

interface KilnErrorOptions {
  readonly data?: unknown;
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

/** An error with a stable code; its class decides what the engine does. */
export class KilnError extends Error {
  override readonly name = 'KilnError';
  readonly code: ErrorCode;
  readonly class: ErrorClass;
  readonly data: unknown;
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, options: KilnErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.class = errorCodes[code].class;
    this.data = options.data;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** A business exception: thrown by actions and code steps, declared by `fail` steps. Never retried. */
export class BusinessException extends Error {
  override readonly name = 'BusinessException';
  readonly code: string;
  readonly data: unknown;

  constructor(code: string, data?: unknown, message = code) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

const MESSAGE_LIMIT = 2_000;

/** Turns anything thrown into a record that can be stored. Unknown errors count as not retryable `step.failed`. */
export function toErrorRecord(thrown: unknown): ErrorRecord {
  if (thrown instanceof BusinessException) {
    return record(thrown.code, 'business', thrown.message, thrown.data);
  }
  if (thrown instanceof KilnError) {
    const base = record(thrown.code, thrown.class, thrown.message, thrown.data);
    return thrown.retryAfterMs === undefined ? base : { ...base, retryAfterMs: thrown.retryAfterMs };
  }
  const message = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  return record('step.failed', 'not_retryable', message, undefined);
}

function record(code: string, errorClass: ErrorClass, message: string, data: unknown): ErrorRecord {
  const clipped = message.length > MESSAGE_LIMIT ? `${message.slice(0, MESSAGE_LIMIT)}…` : message;
  return data === undefined ? { code, class: errorClass, message: clipped } : { code, class: errorClass, message: clipped, data };
}
