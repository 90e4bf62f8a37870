/** The bars of one step on the time line. Pure. */
import { isLive, type Attempt, type StepRecord } from '@model/step.ts';
import type { Span } from './time-scale.ts';

export interface Bar extends Span {
  readonly kind: 'queue' | 'wait' | 'good' | 'bad' | 'run' | 'idle' | 'frame';
  /** Attempt number, where the bar is one. */
  readonly attempt?: number;
}

const containers = new Set(['loop', 'parallel']);

/** Queue time, each attempt on its own, and waiting; a container is a frame around what is inside it. */
export function barsOf(step: StepRecord, now: number): readonly Bar[] {
  const end = step.endedAt ?? (isLive(step.state) ? now : step.createdAt);
  if (containers.has(step.type)) return [{ kind: 'frame', from: step.createdAt, to: end }];
  const started = step.startedAt ?? end;
  const queue: Bar[] = started > step.createdAt ? [{ kind: 'queue', from: step.createdAt, to: started }] : [];
  if (step.attempts.length === 0) return [...queue, whole(step, started, end)];
  const bars: Bar[] = [];
  let last = started;
  for (const attempt of step.attempts) {
    if (attempt.startedAt > last) bars.push({ kind: 'wait', from: last, to: attempt.startedAt });
    last = attempt.endedAt ?? end;
    bars.push({ kind: lookOf(attempt), from: attempt.startedAt, to: last, attempt: attempt.n });
  }
  if (isLive(step.state) && step.state !== 'running' && end > last) bars.push({ kind: 'wait', from: last, to: end });
  return [...queue, ...bars];
}

function whole(step: StepRecord, from: number, to: number): Bar {
  switch (step.state) {
    case 'waiting':
    case 'unresolved':
      return { kind: 'wait', from, to };
    case 'ready':
    case 'running':
      return { kind: 'run', from, to };
    case 'failed':
      return { kind: 'bad', from, to };
    case 'skipped':
    case 'cancelled':
      return { kind: 'idle', from, to };
    case 'succeeded':
      // A person's or an event's answer took the time, not the step.
      return { kind: step.type === 'approval' || step.type === 'wait' || step.type === 'subworkflow' ? 'wait' : 'good', from, to };
  }
}

function lookOf({ outcome }: Attempt): Bar['kind'] {
  switch (outcome) {
    case 'succeeded':
      return 'good';
    case 'failed':
      return 'bad';
    case 'lost':
    case 'discarded':
      return 'idle';
    case undefined:
      return 'run';
  }
}

/** When something was done: waiting and frames are not activity. */
export function activityOf(step: StepRecord, now: number): readonly Span[] {
  return barsOf(step, now).filter((bar) => bar.kind !== 'wait' && bar.kind !== 'frame');
}
