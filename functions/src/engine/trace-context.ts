import { paths } from '../model/paths.ts';
import type { RunRef, StepRef } from '../model/paths.ts';
import { digest } from './json.ts';

/**
 * One trace holds a whole run, however many invocations it takes: its ids follow from the documents, and the documents carry the
 * W3C `traceparent` of the run. So any instance can name any span of it without asking another.
 */
export interface TraceContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
}

const traceparentPattern = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const SAMPLED = 1;

/** Undefined for what is not a valid `traceparent`. */
export function parseTraceparent(text: string | undefined): TraceContext | undefined {
  const [, traceId, spanId, flags] = traceparentPattern.exec(text ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED };
}

export function formatTraceparent({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}

/** What a new run carries: the context of whoever started it, else one of its own. */
export function runTraceparent(ref: RunRef, given: string | undefined): string {
  const caller = parseTraceparent(given);
  return formatTraceparent(caller ?? { traceId: idOf(`trace ${runPath(ref)}`, 32), spanId: runSpanId(ref), sampled: true });
}

/** What a child run carries: it hangs below the step that started it. */
export function childTraceparent(parent: string | undefined, step: StepRef): string | undefined {
  const context = parseTraceparent(parent);
  return context === undefined ? undefined : formatTraceparent({ ...context, spanId: stepSpanId(step) });
}

export function runSpanId(ref: RunRef): string {
  return idOf(`run ${runPath(ref)}`, 16);
}

export function stepSpanId(ref: StepRef): string {
  return idOf(`step ${paths.step(ref.accountId, ref.runId, ref.key)}`, 16);
}

export function attemptSpanId(ref: StepRef, n: number): string {
  return idOf(`attempt ${n} ${paths.step(ref.accountId, ref.runId, ref.key)}`, 16);
}

export function callSpanId(ref: StepRef, n: number, call: number): string {
  return idOf(`call ${call} of attempt ${n} ${paths.step(ref.accountId, ref.runId, ref.key)}`, 16);
}

function runPath({ accountId, runId }: RunRef): string {
  return paths.run(accountId, runId);
}

function idOf(text: string, length: number): string {
  return digest(text).slice(0, length);
}
