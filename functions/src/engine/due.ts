import type { StepRecord } from '../model/step.ts';

/** What a step needs now. */
export type Due =
  | { readonly kind: 'nothing' }
  /** Not yet: ring again at this time. */
  | { readonly kind: 'early'; readonly at: number }
  | { readonly kind: 'begin' }
  /** The lease ran out: the process that performed it is gone or too slow. */
  | { readonly kind: 'lost' }
  /** What it waited for has come, as far as time is concerned. */
  | { readonly kind: 'wake' };

/** Decides from the step as it is and the database's time; nothing else counts. */
export function dueOf(step: StepRecord, now: number): Due {
  switch (step.state) {
    case 'ready':
      return step.gate === 'paused' ? { kind: 'nothing' } : { kind: 'begin' };
    case 'running':
      if (step.lease === undefined) return { kind: 'nothing' };
      return now >= step.lease.until ? { kind: 'lost' } : { kind: 'early', at: step.lease.until };
    case 'waiting': {
      if (step.wakeAt === undefined) return { kind: 'nothing' };
      if (now < step.wakeAt) return { kind: 'early', at: step.wakeAt };
      const begins = step.wait?.kind === 'retry' || step.wait?.kind === 'slot';
      return begins && step.gate === 'paused' ? { kind: 'nothing' } : { kind: 'wake' };
    }
    case 'unresolved':
    case 'succeeded':
    case 'failed':
    case 'skipped':
    case 'cancelled':
      return { kind: 'nothing' };
  }
}
