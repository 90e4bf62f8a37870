import { requestDocument } from '../model/client-documents.ts';
import { paths } from '../model/paths.ts';
import type { Payload as StoredPayload } from '../model/payload.ts';
import type { AnyCodeWorkflow, CodeWorkflow } from './define-workflow.ts';
import { watchRun } from './run-result.ts';
import type { Listen, RunHandle, Watcher } from './run-result.ts';

type PayloadOf<W> = W extends CodeWorkflow<infer _Input, infer _Output, infer Payload> ? Payload : never;
type OutputOf<W> = W extends CodeWorkflow<infer _Input, infer Output, infer _Payload> ? Output : never;

/** What the client needs of the browser's Firestore SDK; all of it under the security rules. */
export interface BrowserOptions {
  readonly accountId: string;
  /** The signed-in person. */
  readonly uid: string;
  readonly create: (path: string, data: object) => Promise<void>;
  readonly read: (path: string) => Promise<unknown>;
  readonly listen: Listen;
  /** The SDK's `serverTimestamp()`. */
  readonly serverTimestamp: () => unknown;
  readonly newId: () => string;
}

/** Starts and follows runs from the browser: a start is a request that the engine answers. */
export class BrowserRuns {
  readonly #options: BrowserOptions;

  constructor(options: BrowserOptions) {
    this.#options = options;
  }

  /**
   * Asks for a run, and waits for the answer. Rejects with the reason when the request is refused. The workflow is named by its
   * type, so that none of its code comes into the browser: `runs.start<typeof copyToClickUp>('copy-to-clickup', input)`.
   */
  async start<W extends AnyCodeWorkflow>(workflowId: W['id'], input: PayloadOf<W>): Promise<RunHandle<OutputOf<W>>> {
    const { accountId, uid, create, serverTimestamp, newId } = this.#options;
    const id = newId();
    const path = paths.request(accountId, id);
    await create(path, requestDocument({ accountId, id, by: uid, at: serverTimestamp(), workflowId, input: JSON.stringify(input) }));
    return { accountId, runId: await this.#answer(path) };
  }

  watch<O>(run: RunHandle<O>, watcher: Watcher<O>): () => void {
    return watchRun(this.#options.listen, paths.run(run.accountId, run.runId), (payload) => this.#load(run, payload), watcher);
  }

  #answer(path: string): Promise<string> {
    const answer = Promise.withResolvers<string>();
    const stop = this.#options.listen(
      path,
      (data) => {
        const request = data as { status?: unknown; runId?: unknown; reason?: unknown } | undefined;
        if (request?.status === 'started') answer.resolve(String(request.runId));
        if (request?.status === 'refused') answer.reject(new Error(String(request.reason)));
      },
      answer.reject,
    );
    return answer.promise.finally(stop);
  }

  async #load(run: RunHandle, { parts = 0, partsId = '' }: StoredPayload): Promise<string> {
    const texts = Array.from({ length: parts }, async (_, part) => {
      const data = (await this.#options.read(paths.payload(run.accountId, run.runId, `${partsId}~${part}`))) as
        { text?: unknown } | undefined;
      return typeof data?.text === 'string' ? data.text : '';
    });
    return (await Promise.all(texts)).join('');
  }
}
