import { parseJson } from '../engine/json.ts';
import { paths } from '../model/paths.ts';
import { answerRecordSchema } from '../model/recipe.ts';
import type { AnswerRecord } from '../model/recipe.ts';
import type { StepRecord } from '../model/step.ts';
import type { AnswerStore, KeptAnswer } from '../steps/step-type.ts';
import { loadPayload, storePayload } from './payloads.ts';
import type { Store } from './store.ts';

const KEY_CHARS = 24;

/** What models answered to one step, kept before it is judged. Retries find it by what was asked. */
export class StoredAnswers implements AnswerStore {
  readonly #store: Store;
  readonly #step: StepRecord;
  readonly #guard: object | undefined;

  constructor(store: Store, step: StepRecord, sensitive: boolean) {
    this.#store = store;
    this.#step = step;
    this.#guard = sensitive ? { sensitive } : undefined;
  }

  async find(contentKey: string): Promise<KeptAnswer | undefined> {
    // The first attempt has nothing before it: no read.
    if (this.#step.attempt <= 1) return undefined;
    const { docs } = await this.#store.get([this.#path(contentKey)]);
    if (docs[0] === undefined) return undefined;
    const record = answerRecordSchema.parse(docs[0].data);
    const text = parseJson(await loadPayload(this.#store, this.#step, record.text));
    return typeof text === 'string' ? { record, text } : undefined;
  }

  async keep(
    answer: Omit<AnswerRecord, 'v' | 'accountId' | 'runId' | 'stepKey' | 'workflowId' | 'attempt' | 'text'>,
    text: string,
  ): Promise<void> {
    const { accountId, runId, key, workflowId, attempt } = this.#step;
    const stored = storePayload(this.#step, `${key}~answer~${answer.contentKey.slice(0, KEY_CHARS)}`, JSON.stringify(text), this.#guard);
    const record: AnswerRecord = { v: 1, accountId, runId, stepKey: key, workflowId, attempt, ...answer, text: stored.payload };
    await this.#store.commit([{ op: 'set', path: this.#path(answer.contentKey), data: record }, ...stored.writes]);
  }

  async findContext(): Promise<string | undefined> {
    if (this.#step.attempt <= 1) return undefined;
    const { docs } = await this.#store.get([this.#path('context')]);
    const text = docs[0]?.data['context'];
    return typeof text === 'string' ? text : undefined;
  }

  async keepContext(context: string): Promise<void> {
    const { accountId, runId, key } = this.#step;
    await this.#store.commit([{ op: 'set', path: this.#path('context'), data: { v: 1, accountId, runId, stepKey: key, context } }]);
  }

  #path(contentKey: string): string {
    const { accountId, runId, key } = this.#step;
    return paths.answer(accountId, runId, `${key}~${contentKey.slice(0, KEY_CHARS)}`);
  }
}
