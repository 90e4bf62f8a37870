import { z } from 'zod';
import { retrySchema } from '../model/definition.ts';
import { KilnError } from '../model/errors.ts';
import type { StepRecord } from '../model/step.ts';
import type { Journal } from './journal.ts';

/** What is known of a step's policy without running the code: needed when its attempt was lost. */
const policySchema = z.strictObject({ idempotent: z.boolean(), retry: retrySchema.optional() });
export type StepPolicy = z.infer<typeof policySchema>;

const chunkSchema = z.tuple([z.string(), z.number().int(), z.number().int()]);

const headerSchema = z.strictObject({
  v: z.literal(1),
  /** `here`: the journal is in this text. `head`: several steps live; the journal is in `journal/head`. */
  at: z.enum(['here', 'head']),
  policy: policySchema.optional(),
  chunks: z.array(chunkSchema).optional(),
  tail: z.number().int().optional(),
  made: z.number().int().optional(),
  /** While the run compensates: which of the compensations, counted from the first registered, this step is. */
  undo: z.number().int().optional(),
});

export interface Baton {
  readonly at: 'here' | 'head';
  readonly policy: StepPolicy;
  readonly journal: Journal | undefined;
  readonly undo: number | undefined;
}

export interface NewBaton {
  readonly policy?: StepPolicy;
  /** Absent: the journal is in `journal/head`. */
  readonly journal?: Journal;
  readonly undo?: number;
}

/** A step is repeated after a lost attempt unless it says otherwise: it is handed an idempotency key for that. */
const defaultPolicy: StepPolicy = { idempotent: true };

/** One line of JSON, then the entries of the journal's tail, a line each. */
export function encodeBaton({ policy, journal, undo }: NewBaton): string {
  const header: z.infer<typeof headerSchema> = {
    v: 1,
    at: journal === undefined ? 'head' : 'here',
    ...(policy === undefined ? {} : { policy }),
    ...(undo === undefined ? {} : { undo }),
    ...(journal === undefined ? {} : journalHeader(journal)),
  };
  return withTail(JSON.stringify(header), journal);
}

export function decodeBaton(record: Pick<StepRecord, 'key' | 'baton'>): Baton {
  if (record.baton === undefined) throw new KilnError('internal', `step "${record.key}" of a code run carries no baton`);
  const { line, tail } = split(record.baton);
  const header = headerSchema.parse(JSON.parse(line));
  return {
    at: header.at,
    policy: header.policy ?? defaultPolicy,
    journal: header.at === 'here' ? journalOf(header, tail) : undefined,
    undo: header.undo,
  };
}

/** The policy alone: the tail is not decoded. */
export function policyOf(record: Pick<StepRecord, 'key' | 'baton'>): StepPolicy {
  if (record.baton === undefined) return defaultPolicy;
  return headerSchema.parse(JSON.parse(split(record.baton).line)).policy ?? defaultPolicy;
}

export interface LiveStep {
  readonly key: string;
  readonly type: string;
}

const headSchema = z.strictObject({
  v: z.literal(1),
  text: z.string(),
  /** Entries so far: the newest of several accounts of a journal is the longest. */
  count: z.number().int(),
});

const headLineSchema = z.strictObject({
  chunks: z.array(chunkSchema),
  tail: z.number().int(),
  made: z.number().int(),
  /** Active time of the longest path so far, ms. */
  activeMs: z.number(),
  live: z.array(z.tuple([z.string(), z.string()])),
});

/** `journal/head`: the journal while several steps live, and when the run has ended. */
export interface Head {
  readonly journal: Journal;
  readonly live: readonly LiveStep[];
  readonly activeMs: number;
}

export function encodeHead({ journal, live, activeMs }: Head, count: number): z.infer<typeof headSchema> {
  const line: z.infer<typeof headLineSchema> = { ...journalHeader(journal), activeMs, live: live.map(({ key, type }) => [key, type]) };
  return { v: 1, text: withTail(JSON.stringify(line), journal), count };
}

export function decodeHead(data: unknown): Head {
  const { line, tail } = split(headSchema.parse(data).text);
  const { live, activeMs, ...header } = headLineSchema.parse(JSON.parse(line));
  return { journal: journalOf(header, tail), live: live.map(([key, type]) => ({ key, type })), activeMs };
}

interface JournalHeader {
  readonly chunks?: readonly z.infer<typeof chunkSchema>[] | undefined;
  readonly tail?: number | undefined;
  readonly made?: number | undefined;
}

function journalHeader(journal: Journal): { chunks: [string, number, number][]; tail: number; made: number } {
  return { chunks: journal.chunks.map(({ id, entries, bytes }) => [id, entries, bytes]), tail: journal.tailEntries, made: journal.made };
}

function journalOf(header: JournalHeader, tail: string): Journal {
  const chunks = (header.chunks ?? []).map(([id, entries, bytes]) => ({ id, entries, bytes }));
  return { chunks, tail, tailEntries: header.tail ?? 0, made: header.made ?? 0 };
}

function withTail(line: string, journal: Journal | undefined): string {
  return journal === undefined || journal.tail === '' ? line : `${line}\n${journal.tail}`;
}

function split(text: string): { line: string; tail: string } {
  const at = text.indexOf('\n');
  return at === -1 ? { line: text, tail: '' } : { line: text.slice(0, at), tail: text.slice(at + 1) };
}
