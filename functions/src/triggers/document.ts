import { onDocumentWritten } from 'firebase-functions/v2/firestore';
import { created, load } from './deployed.ts';
import type { Watched } from './handlers.ts';

export interface DocumentTriggerOptions {
  /** Whose runs they are. Default: what the path has at `{accountId}`. */
  readonly account?: string;
  /** `created`: starts runs. `written`: tells also of changes and deletions, so that `step.waitForDocument` looks at once. Default `created`. */
  readonly on?: 'created' | 'written';
  /** Outsiders, or runs that have read what they wrote, can write such documents: the runs are tainted. */
  readonly tainted?: boolean;
}

/**
 * A function that watches a path of the team's own data; export it from `index.ts`. It starts a run of each code workflow that is
 * declared with `triggers.document` of the same path, once for each document, and wakes runs that wait for the document.
 *
 * @throws Error when nothing says whose runs they are
 */
export function documentTrigger(pattern: string, { account, on = 'created', tainted = false }: DocumentTriggerOptions = {}) {
  if (account === undefined && !pattern.includes('{accountId}')) {
    throw new Error(`documentTrigger "${pattern}": name the account, or have {accountId} in the path`);
  }
  if (/^accounts\/[^/]+\/(?:runs|events)\//.test(pattern))
    throw new Error(`documentTrigger "${pattern}": the engine's own documents are not watched`);
  const watched: Watched = { pattern, account, tainted };
  if (on === 'created') {
    return created(pattern, {}, (handlers, runtime, { id, document, params, data }) =>
      handlers.documentChanged(runtime, watched, { id, path: document, params, change: 'created', after: data }),
    );
  }
  return onDocumentWritten({ document: pattern, retry: true }, async ({ id, document, params, data }) => {
    const { handlers, runtime, finished } = await load();
    const { before, after } = data ?? {};
    const change = after?.exists === false ? 'deleted' : before?.exists === true ? 'updated' : 'created';
    await handlers.documentChanged(runtime, watched, { id, path: document, params, change, after });
    await finished();
  });
}
