import type { SeededRandom } from './random.ts';

/** Rates of each fault, drawn anew for every seed; some are off, so that the others are seen alone. */
export interface FaultRates {
  /** Process death before or after an I/O operation. */
  readonly crash: number;
  /** The operation happened, its answer was lost: the client library gives up, or sends it again. */
  readonly lostReply: number;
  /** The operation did not happen: contention, unavailability. */
  readonly aborted: number;
  /** The operation happened; its answer takes a while. */
  readonly slowAnswer: number;
  /** Deliveries of triggers and tasks. */
  readonly duplicate: number;
  readonly drop: number;
  readonly longDelay: number;
  /** Rings of the task queue. */
  readonly earlyRing: number;
  readonly lostRing: number;
  /** The world goes on while an invocation stands still: leases expire under living holders. */
  readonly stall: number;
  /** Outside calls. */
  readonly callFails: number;
  readonly callHangs: number;
  readonly callUnknown: number;
  /** The reconciler comes although nothing is due. */
  readonly extraTick: number;
  /** Largest clock error of an instance, ms either way. */
  readonly skewMs: number;
}

export const faultNames = [
  'crash before I/O',
  'crash after I/O',
  'lost reply',
  'lost reply, sent again',
  'aborted',
  'aborted, sent again',
  'slow answer',
  'duplicate delivery',
  'dropped delivery',
  'long delay',
  'trigger without its document',
  'early ring',
  'lost ring',
  'duplicate ring',
  'task name refused',
  'stall past a lease',
  'call failed (retryable)',
  'call failed (final)',
  'call outcome unknown',
  'call hung',
  'clock skew',
  'commit conflict',
  'redelivery',
  'given up by the platform',
  'kill switch',
  'decision at the deadline',
  'decision refused by rules',
  'two decisions at once',
  'event at the timeout',
  'event before its wait',
  'duplicate event',
  'two events at once',
  'cancel',
  'pause',
  'resume',
  'retry',
  'skip',
  'override_wait',
  'resolve',
] as const;
export type FaultName = (typeof faultNames)[number];

/** Operations that must each succeed at least once, or the simulator is blind. */
export const operationNames = [
  'run started',
  'claim',
  'result',
  'compute',
  'suspend',
  'join complete',
  'join early',
  'attempt lost',
  'left unresolved',
  'late result discarded',
  'retry',
  'timer woke',
  'event met wait',
  'wait timed out',
  'approval decided',
  'approval expired',
  'approval cancelled',
  'child run returned',
  'run completed',
  'run failed',
  'run cancelled',
  'business exception handled',
  'step cancelled',
  'reconciler repaired',
  'mail sent',
  'follower called',
  'command done',
  'command refused',
  'run compensated',
] as const;
export type OperationName = (typeof operationNames)[number];

export class Counters {
  readonly faults = new Map<FaultName, number>();
  readonly operations = new Map<OperationName, number>();

  fault(name: FaultName): void {
    this.faults.set(name, (this.faults.get(name) ?? 0) + 1);
  }

  operation(name: OperationName): void {
    this.operations.set(name, (this.operations.get(name) ?? 0) + 1);
  }

  add(other: Counters): void {
    for (const [name, n] of other.faults) this.faults.set(name, (this.faults.get(name) ?? 0) + n);
    for (const [name, n] of other.operations) this.operations.set(name, (this.operations.get(name) ?? 0) + n);
  }

  /** What never happened: with enough schedules, a sign that the simulator does not see. */
  missing(): string[] {
    return [...faultNames.filter((name) => !this.faults.has(name)), ...operationNames.filter((name) => !this.operations.has(name))];
  }
}

/** Swarm: in each seed about a third of the faults are off. */
export function drawFaults(random: SeededRandom): FaultRates {
  const rate = (most: number): number => (random.chance(0.35) ? 0 : random.next() * most);
  return {
    crash: rate(0.05),
    lostReply: rate(0.06),
    aborted: rate(0.05),
    slowAnswer: rate(0.3),
    duplicate: rate(0.3),
    drop: rate(0.12),
    longDelay: rate(0.1),
    earlyRing: rate(0.25),
    lostRing: rate(0.25),
    stall: rate(0.02),
    callFails: rate(0.3),
    callHangs: rate(0.08),
    callUnknown: rate(0.15),
    extraTick: rate(0.2),
    skewMs: random.chance(0.3) ? 0 : random.int(5_000),
  };
}

export const noFaults: FaultRates = {
  crash: 0,
  lostReply: 0,
  aborted: 0,
  slowAnswer: 0,
  duplicate: 0,
  drop: 0,
  longDelay: 0,
  earlyRing: 0,
  lostRing: 0,
  stall: 0,
  callFails: 0,
  callHangs: 0,
  callUnknown: 0,
  extraTick: 0,
  skewMs: 0,
};
