import { z } from 'zod';
import { checkCondition } from '../engine/conditions.ts';
import { parseDate, parseDuration } from '../engine/duration.ts';
import { canonicalJson } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import type { Problem } from '../engine/problem.ts';
import { ANY_KEY } from '../model/event.ts';
import type { WaitRecord } from '../model/event.ts';
import { KilnError } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import type { EnterContext, Entered, WaitStepType } from './step-type.ts';

const duration = z.union([z.number(), z.string()]);

const schema = z.strictObject({
  type: z.literal('wait'),
  for: duration.optional(),
  until: z.union([z.string(), z.number()]).optional(),
  event: z
    .strictObject({
      name: z.string().min(1).max(200),
      /** Only events with this key. */
      key: z.string().max(500).optional(),
      /** CEL over `event` and `vars`. */
      match: z.string().max(4_000).optional(),
      vars: z.record(z.string(), z.json()).optional(),
      /** How far back an event may have come. Default: the start of the run, or 30 days where a key or match is given. */
      lookback: duration.optional(),
    })
    .optional(),
  timeout: duration.optional(),
  onTimeout: z.enum(['continue', 'fail']).optional(),
});
type Config = z.infer<typeof schema>;

/** No wait is without an end. */
const DEFAULT_EVENT_TIMEOUT_MS = 30 * 24 * 60 * 60 * 1_000;
const DEFAULT_LOOKBACK_MS = 30 * 24 * 60 * 60 * 1_000;

const timerOutput: Json = { type: 'object', properties: { wokeAt: { type: 'integer' } }, additionalProperties: false };
const eventOutput: Json = {
  type: 'object',
  properties: {
    timedOut: { type: 'boolean' },
    event: {
      type: ['object', 'null'],
      properties: { id: { type: 'string' }, name: { type: 'string' }, key: {}, receivedAt: { type: 'integer' }, payload: {} },
      additionalProperties: false,
    },
  },
  additionalProperties: false,
};

export const wait: WaitStepType<Config> = {
  type: 'wait',
  title: 'Wait',
  description: 'Waits for a time, a date or an event, holding no resources.',
  kind: 'wait',
  schema,
  durationFields: ['for', 'event.lookback'],
  // What events are looked for by is kept where they find it.
  publicFields: ['event'],
  dateFields: ['until'],
  outputSchema: (config) => (config['event'] === undefined ? timerOutput : eventOutput),
  preflight: (config, { place }) => [
    ...kindProblems(config, place.path),
    ...matchProblems(config.event?.match, `${place.path}.event.match`),
  ],
  async enter(context) {
    const { config } = context;
    if (config.event !== undefined) return enterEvent(context, config.event);
    if (config.for !== undefined) return timer(context.stepCreatedAt + parseDuration(config.for, 'for'));
    if (config.until !== undefined) return timer(parseDate(config.until, 'until'));
    throw new KilnError('definition.invalid', 'the wait says neither "for", "until" nor "event"');
  },
};

function kindProblems(config: Config, path: string): readonly Problem[] {
  const given = [config.for, config.until, config.event].filter((value) => value !== undefined);
  return given.length === 1 ? [] : [{ path, code: 'definition.invalid', message: 'give exactly one of "for", "until" and "event"' }];
}

/** What comes from outside gets into the expression as `vars` only, never as text of it. */
function matchProblems(match: string | undefined, path: string): readonly Problem[] {
  if (match === undefined) return [];
  if (match.includes('{{'))
    return [{ path, code: 'condition.syntax', message: 'an expression takes values from "vars", not from templates' }];
  return checkCondition(match).map((problem) => ({ ...problem, path }));
}

function timer(wakeAt: number): Entered {
  return { wait: { kind: 'timer' }, wakeAt, writes: [] };
}

async function enterEvent(context: EnterContext<Config>, event: NonNullable<Config['event']>): Promise<Entered> {
  const { ref, config, documentId, stepCreatedAt, now } = context;
  const wakeAt = stepCreatedAt + parseDuration(config.timeout ?? DEFAULT_EVENT_TIMEOUT_MS, 'timeout');
  const correlated = event.key !== undefined || event.match !== undefined;
  const lookback = event.lookback === undefined ? undefined : parseDuration(event.lookback, 'event.lookback');
  const since = lookback === undefined && !correlated ? (await context.facts()).createdAt : now - (lookback ?? DEFAULT_LOOKBACK_MS);
  const record: WaitRecord = {
    v: 1,
    accountId: ref.accountId,
    waitId: documentId,
    runId: ref.runId,
    stepKey: ref.key,
    name: event.name,
    key: event.key ?? ANY_KEY,
    ...(event.match === undefined ? {} : { match: event.match }),
    ...(event.vars === undefined ? {} : { vars: canonicalJson({ vars: event.vars as Json }) }),
    since,
    state: 'open',
    createdAt: now,
  };
  return {
    wait: { kind: 'event', waitId: documentId, event: event.name, ...(event.key === undefined ? {} : { key: event.key }) },
    wakeAt,
    writes: [{ op: 'create', path: paths.wait(ref.accountId, documentId), data: record }],
  };
}
