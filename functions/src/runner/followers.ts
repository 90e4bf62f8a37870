import { alertFailure, queueBusinessException } from '../ledger/exceptions.ts';
import { scheduleExpiry } from '../ledger/retention.ts';
import { countRun } from '../telemetry/metrics.ts';
import { storeTree } from '../telemetry/trace-tree.ts';
import { declaredOf } from './declared.ts';
import { followReconciliation } from './reconciliation.ts';
import type { RunFollower } from './runtime.ts';

/** What follows the end of a run for those who operate the account. Each may be called again at any time. */
export const operationFollowers: readonly RunFollower[] = [
  followReconciliation,
  queueBusinessException,
  scheduleExpiry,
  async (runtime, run) => alertFailure(runtime, run, (await declaredOf(runtime, run))?.declared.alerts?.onFailure === true),
  (runtime, run) =>
    countRun(runtime, run, async (steps) => {
      // A run's picture is not worth a second try of everything else.
      await storeTree(runtime.store, run, steps).catch(() => undefined);
    }),
];
