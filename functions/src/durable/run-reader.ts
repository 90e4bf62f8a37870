import { LRUCache } from 'lru-cache';
import { parseJson } from '../engine/json.ts';
import { loadPayload } from '../ledger/payloads.ts';
import { StoreConflict } from '../ledger/store.ts';
import type { ReadResult, Store, Transaction } from '../ledger/store.ts';
import { KilnError } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import type { RunRef } from '../model/paths.ts';
import { runRecordSchema } from '../model/run.ts';
import type { RunRecord, StartedBy } from '../model/run.ts';
import { stepRecordSchema } from '../model/step.ts';
import type { StepRecord } from '../model/step.ts';
import { decodeBaton, decodeHead } from './baton.ts';
import type { Head, LiveStep } from './baton.ts';
import type { RunInfo } from './define-workflow.ts';
import { countEntries, decodeEntries, emptyJournal } from './journal.ts';
import type { Chunk, Entry, Journal, StoredResult } from './journal.ts';

export type Reader = Pick<Store | Transaction, 'get'>;

/** What never changes about a run. */
export interface RunFacts {
  readonly info: RunInfo;
  /** The payload's JSON text: each execution gets a copy of its own. */
  readonly payload: string;
  /** Who brought it: what a webhook or an event brought is read by the trigger. */
  readonly payloadFrom: StartedBy['kind'];
  readonly chainDepth: number;
}

/** The journal with everything that a replay needs of it. */
export interface Opened {
  readonly facts: RunFacts;
  readonly journal: Journal;
  readonly lastChunk: Chunk | undefined;
  /** Everything in order, stored values filled in. */
  readonly entries: readonly Entry[];
  readonly at: 'here' | 'head';
  readonly live: readonly LiveStep[];
  readonly activeMs: number;
  /** Fence of `journal/head`, where the journal is there. */
  readonly headTime: string | undefined;
}

/** A chunk's text, and what it says. */
interface ReadChunk {
  readonly text: string;
  readonly entries: readonly Entry[];
}

const CHUNKS_MAX_CHARS = 32 * 1024 * 1024;
const VALUES_MAX_CHARS = 16 * 1024 * 1024;

/**
 * Reads runs and journals. What is immutable is cached, for this instance and database only: a step of a warm instance then reads
 * nothing but what its trigger brought, and a cold one reads the run and its chunks.
 */
export class RunReader {
  readonly #facts = new LRUCache<string, RunFacts>({ maxSize: VALUES_MAX_CHARS, sizeCalculation: (facts) => facts.payload.length + 500 });
  readonly #chunks = new LRUCache<string, ReadChunk>({ maxSize: CHUNKS_MAX_CHARS });
  readonly #values = new LRUCache<string, string>({ maxSize: VALUES_MAX_CHARS, sizeCalculation: (text) => text.length + 1 });

  /** Opens the journal that a live step goes on from. */
  async open(reader: Reader, record: StepRecord): Promise<Opened> {
    const baton = decodeBaton(record);
    const head = baton.at === 'head' ? paths.journal(record.accountId, record.runId, 'head') : undefined;
    const [facts, found] = await this.#factsAnd(reader, record, head === undefined ? [] : [head]);
    if (baton.journal !== undefined) {
      const live = baton.undo === undefined ? [{ key: record.key, type: record.type }] : [];
      return this.#fill(reader, record, facts, { journal: baton.journal, live, activeMs: record.activeMs }, 'here');
    }
    if (found?.docs[0] === undefined) throw new KilnError('internal', `the journal of run ${record.runId} is missing`);
    return this.#fill(reader, record, facts, decodeHead(found.docs[0].data), 'head', found.docs[0].updateTime);
  }

  /** Opens a run that has no step yet: a new one, or a fork that was given the beginning of another's journal. */
  async openNew(reader: Reader, run: RunRecord, payload: string): Promise<Opened> {
    const facts = factsOf(run, payload);
    if (run.forkedFrom === undefined)
      return { facts, journal: emptyJournal, lastChunk: undefined, entries: [], at: 'here', live: [], activeMs: 0, headTime: undefined };
    return this.#fill(reader, run, facts, await this.readHead(reader, run), 'here');
  }

  /** Opens a journal of a run that has ended. */
  async openJournal(reader: Reader, ref: RunRef, journal: Journal): Promise<Opened> {
    const [facts] = await this.#factsAnd(reader, ref, []);
    return this.#fill(reader, ref, facts, { journal, live: [], activeMs: 0 }, 'head');
  }

  /** The entries of a journal as they are stored. */
  async rawEntries(reader: Reader, ref: RunRef, journal: Journal): Promise<readonly Entry[]> {
    const chunks = await this.#readChunks(reader, ref, journal);
    return [...chunks.flatMap((chunk) => chunk.entries), ...decodeEntries(journal.tail)];
  }

  /** What never changes about a run. */
  async facts(reader: Reader, ref: RunRef): Promise<RunFacts> {
    const [facts] = await this.#factsAnd(reader, ref, []);
    return facts;
  }

  async readHead(reader: Reader, ref: RunRef): Promise<Head> {
    const { docs } = await reader.get([paths.journal(ref.accountId, ref.runId, 'head')]);
    return docs[0] === undefined ? { journal: emptyJournal, live: [], activeMs: 0 } : decodeHead(docs[0].data);
  }

  /** One read for the run and what else is wanted, where the run is not known yet. */
  async #factsAnd(reader: Reader, ref: RunRef, also: readonly string[]): Promise<[RunFacts, ReadResult | undefined]> {
    const path = paths.run(ref.accountId, ref.runId);
    const known = this.#facts.get(path);
    if (known !== undefined) return [known, also.length === 0 ? undefined : await reader.get(also)];
    const found = await reader.get([...also, path]);
    const doc = found.docs.at(-1);
    if (doc === undefined) throw new KilnError('run.not_found', `run ${ref.runId} is missing`);
    const run = runRecordSchema.parse(doc.data);
    const facts = factsOf(run, await loadPayload(reader, run, run.input));
    this.#facts.set(path, facts);
    return [facts, found];
  }

  async #fill(reader: Reader, ref: RunRef, facts: RunFacts, head: Head, at: 'here' | 'head', headTime?: string): Promise<Opened> {
    const chunks = await this.#readChunks(reader, ref, head.journal);
    const entries = [...chunks.flatMap((chunk) => chunk.entries), ...decodeEntries(head.journal.tail)];
    for (const [i, entry] of entries.entries()) {
      if (entry.result.kind === 'stored') entries[i] = await this.#filled(reader, ref, entry, entry.result);
    }
    const [last, chunk] = [chunks.at(-1), head.journal.chunks.at(-1)];
    const lastChunk = last === undefined || chunk === undefined ? undefined : { ref: chunk, text: last.text };
    return { facts, journal: head.journal, lastChunk, entries, at, live: head.live, activeMs: head.activeMs, headTime };
  }

  async #readChunks(reader: Reader, ref: RunRef, journal: Journal): Promise<ReadChunk[]> {
    const wanted = journal.chunks.map((chunk) => paths.journal(ref.accountId, ref.runId, chunk.id));
    const unknown = wanted.filter((path) => !this.#chunks.has(path));
    if (unknown.length > 0) {
      const { docs } = await reader.get(unknown);
      for (const [i, doc] of docs.entries()) {
        // Replaced by a longer one meanwhile: whoever holds the older journal looks at its step again.
        if (doc === undefined) throw new StoreConflict(`the journal of run ${ref.runId} has moved on`);
        const text = String(doc.data['text']);
        this.#chunks.set(unknown[i] ?? '', { text, entries: decodeEntries(text) }, { size: 2 * text.length + 1 });
      }
    }
    return wanted.map((path) => this.#chunks.get(path) ?? { text: '', entries: [] });
  }

  async #filled(reader: Reader, ref: RunRef, entry: Entry, { payload, runId = ref.runId }: StoredResult): Promise<Entry> {
    const cacheKey = `${ref.accountId}/${runId}/${entry.key}/${payload.digest}`;
    let json = this.#values.get(cacheKey);
    if (json === undefined) this.#values.set(cacheKey, (json = await loadPayload(reader, { accountId: ref.accountId, runId }, payload)));
    return { ...entry, result: { kind: 'value', json } };
  }
}

function factsOf(run: RunRecord, payload: string): RunFacts {
  const { runId, accountId, workflowId, version, createdAt, startedBy, parent, chainDepth } = run;
  const info = { id: runId, accountId, workflowId, version, createdAt, startedBy, parent };
  return { info, payload, payloadFrom: payloadFrom(run), chainDepth };
}

export function payloadFrom({ inputFrom, startedBy }: RunRecord): StartedBy['kind'] {
  return inputFrom ?? startedBy.kind;
}

/**
 * The longest account of a run's journal: `journal/head`, or the baton of its newest steps when the run was ended from outside
 * while one step lived.
 */
export async function latestJournal(store: Pick<Store, 'get' | 'query'>, reader: RunReader, ref: RunRef): Promise<Journal> {
  const head = await reader.readHead(store, ref);
  const { docs } = await store.query({ from: paths.steps(ref.accountId, ref.runId), where: [], orderBy: [['seq', 'desc']], limit: 5 });
  const batons = docs.flatMap((doc) => {
    const record = stepRecordSchema.parse(doc.data);
    const journal = record.baton === undefined ? undefined : decodeBaton(record).journal;
    return journal === undefined ? [] : [journal];
  });
  return [head.journal, ...batons].reduce((longest, journal) => (countEntries(journal) > countEntries(longest) ? journal : longest));
}

/** The run's payload as one execution sees it. */
export function payloadOf(facts: RunFacts): ReturnType<typeof parseJson> {
  return parseJson(facts.payload);
}
