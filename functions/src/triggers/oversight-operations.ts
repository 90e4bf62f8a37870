import { z } from 'zod';
import { settleException, settleExceptionInput } from '../ledger/exceptions.ts';
import { verifyStored } from '../ledger/history.ts';
import { idPattern, paths } from '../model/paths.ts';
import type { Operation } from './api.ts';

/** The reconciler works for all accounts at once; no account sees where it stands in the runs of another. */
const healthSchema = z.object({
  at: z.number(),
  repaired: z.number(),
  failed: z.number(),
  behind: z.boolean(),
  auditedAt: z.number().default(0),
});

const runInput = z.strictObject({ runId: z.string().regex(idPattern) });

/** How those who run the place see that all is well, and settle what is not. */
export const oversightOperations: Readonly<Record<string, Operation>> = {
  /** Null before the first tick. */
  health: {
    roles: ['operator'],
    run: async (runtime) => {
      const { docs } = await runtime.store.get([paths.reconciler]);
      return docs[0] === undefined ? null : healthSchema.parse(docs[0].data);
    },
  },
  verifyAudit: {
    roles: [],
    run: (runtime, { accountId }) => verifyStored(runtime.store, paths.audit(accountId)),
  },
  verifyHistory: {
    roles: ['operator'],
    run: (runtime, { accountId }, data) => verifyStored(runtime.store, paths.historyOf(accountId, runInput.parse(data).runId)),
  },
  settleException: {
    roles: ['operator'],
    run: (runtime, actor, data) => settleException(runtime, actor, settleExceptionInput.parse(data)),
  },
};
