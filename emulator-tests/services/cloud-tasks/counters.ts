/** What happened so far. A test that injects a fault checks that its counter moved. */
export interface TaskCounters {
  created: number;
  alreadyExists: number;
  refused: number;
  createRepliesLost: number;
  dispatched: number;
  succeeded: number;
  failed: number;
  exhausted: number;
  deleted: number;
  purged: number;
  dropped: number;
  early: number;
  late: number;
  duplicated: number;
  maxInFlight: number;
}

export interface TaskStats extends TaskCounters {
  readonly pending: number;
  readonly inFlight: number;
}

export function newTaskCounters(): TaskCounters {
  return {
    created: 0,
    alreadyExists: 0,
    refused: 0,
    createRepliesLost: 0,
    dispatched: 0,
    succeeded: 0,
    failed: 0,
    exhausted: 0,
    deleted: 0,
    purged: 0,
    dropped: 0,
    early: 0,
    late: 0,
    duplicated: 0,
    maxInFlight: 0,
  };
}
