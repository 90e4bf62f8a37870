import { paths } from '../model/paths.ts';
import type { Write } from '../ledger/store.ts';
import type { PerformContext } from './step-type.ts';

/** Marks the run as having read content that outsiders wrote. Written once, so that loops do not crowd on the run's document. */
export async function taintWrites(context: Pick<PerformContext<object>, 'facts' | 'ref'>): Promise<readonly Write[]> {
  const run = await context.facts();
  if (run.tainted === true) return [];
  return [{ op: 'update', path: paths.run(context.ref.accountId, context.ref.runId), data: { tainted: true } }];
}
