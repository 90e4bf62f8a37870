import { onDocumentCreated } from 'firebase-functions/v2/firestore';
import type { DocumentOptions, FirestoreEvent, QueryDocumentSnapshot } from 'firebase-functions/v2/firestore';
import type { Runtime } from '../runner/runtime.ts';
import type * as Handlers from './handlers.ts';

export type CreatedEvent = FirestoreEvent<QueryDocumentSnapshot | undefined>;

/** A trigger on a document's creation, redelivered when it throws. Handlers are imported when called: discovery stays quick. */
export function created(
  document: string,
  options: Partial<DocumentOptions>,
  handle: (handlers: typeof Handlers, runtime: Runtime, event: CreatedEvent) => Promise<void>,
) {
  return onDocumentCreated({ document, retry: true, ...options }, async (event) => {
    const { handlers, runtime, finished } = await load();
    await handle(handlers, runtime, event);
    await finished();
  });
}

interface Loaded {
  readonly handlers: typeof Handlers;
  readonly runtime: Runtime;
  /** Sends what is to be sent before the instance may be put to sleep. */
  readonly flush: () => Promise<void>;
  /** The same, and says what was used. */
  readonly finished: () => Promise<void>;
}

export async function load(): Promise<Loaded> {
  const [handlers, production] = await Promise.all([import('./handlers.ts'), import('./production.ts')]);
  return { handlers, runtime: production.productionRuntime(), flush: production.flushTraces, finished: production.finishInvocation };
}
