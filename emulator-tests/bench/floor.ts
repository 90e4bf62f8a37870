/**
 * The floor: a chain written by hand on the same platform, with one trigger on `floor/{id}` and one compare-and-set for each step,
 * and nothing else: no claim, no journal, no retries. It is exported beside Kiln's functions so that both run on the same host.
 */
import { onDocumentWritten } from '../../functions/src/testing/document-written.testing.ts';

import { codeWorkflows } from '../../functions/src/durable/index.ts';
import { stepsInARow } from './steps-in-a-row.ts';

export * from '../fixtures/functions.ts';

codeWorkflows().add(stepsInARow);

interface Chain {
  readonly n: number;
  readonly of: number;
}

export const floor = onDocumentWritten({ document: 'floor/{id}', retry: true }, async (event) => {
  const after = event.data?.after;
  const chain = after?.data() as Chain | undefined;
  if (after?.updateTime === undefined || chain === undefined || chain.n >= chain.of) return;
  await after.ref.update({ n: chain.n + 1, at: Date.now() }, { lastUpdateTime: after.updateTime });
});
