import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { asNumber, asObject, asString, parseJson } from '../json-fields.ts';
import { defaultRetryConfig, readRetryConfig, writeRetryConfig, type RetryConfig } from './retry.ts';
import { restoreTask, type StoredTask } from './task.ts';

export interface QueueRecord {
  readonly name: string;
  readonly paused: boolean;
  readonly retry: RetryConfig;
  readonly maxConcurrent: number;
  readonly purgeMs?: number;
}

/** Everything that survives a restart. */
export interface JournalState {
  readonly tasks: Map<string, StoredTask>;
  /** Name of a task that ended, and until when the name stays taken. */
  readonly tombstones: Map<string, number>;
  readonly queues: Map<string, QueueRecord>;
  clockOffset: number;
}

export type JournalLine =
  | { readonly op: 'task'; readonly task: StoredTask }
  | { readonly op: 'end'; readonly name: string; readonly until: number }
  | { readonly op: 'queue'; readonly queue: QueueRecord }
  | { readonly op: 'clock'; readonly offset: number };

export interface Journal {
  readonly state: JournalState;
  append(line: JournalLine): void;
}

function apply(state: JournalState, line: unknown): void {
  const fields = asObject(line);
  switch (fields?.['op']) {
    case 'task': {
      const task = restoreTask(fields['task']);
      if (task !== undefined) state.tasks.set(task.name, task);
      return;
    }
    case 'end': {
      const name = asString(fields['name']) ?? '';
      state.tasks.delete(name);
      state.tombstones.set(name, asNumber(fields['until']) ?? 0);
      return;
    }
    case 'queue': {
      const queue = asObject(fields['queue']);
      const name = asString(queue?.['name']);
      if (queue === undefined || name === undefined) return;
      const purgeMs = asNumber(queue['purgeMs']);
      state.queues.set(name, {
        name,
        paused: queue['paused'] === true,
        retry: readRetryConfig(queue['retry'], defaultRetryConfig),
        maxConcurrent: asNumber(queue['maxConcurrent']) ?? 1000,
        ...(purgeMs === undefined ? {} : { purgeMs }),
      });
      return;
    }
    case 'clock':
      state.clockOffset = asNumber(fields['offset']) ?? state.clockOffset;
      return;
    default:
      // A line torn by a crash, or of another version: what it would have said was never acknowledged.
      return;
  }
}

function encode(line: JournalLine): string {
  const written = line.op === 'queue' ? { op: 'queue', queue: { ...line.queue, retry: writeRetryConfig(line.queue.retry) } } : line;
  return `${JSON.stringify(written)}\n`;
}

function snapshotLines(state: JournalState): JournalLine[] {
  return [
    { op: 'clock', offset: state.clockOffset },
    ...[...state.queues.values()].map((queue): JournalLine => ({ op: 'queue', queue })),
    ...[...state.tombstones].map(([name, until]): JournalLine => ({ op: 'end', name, until })),
    ...[...state.tasks.values()].map((task): JournalLine => ({ op: 'task', task })),
  ];
}

/** Nothing outlives the process. */
export function memoryJournal(): Journal {
  return { state: { tasks: new Map(), tombstones: new Map(), queues: new Map(), clockOffset: 0 }, append: () => undefined };
}

/**
 * An append-only file, one JSON object a line. A line is written before the caller gets its answer, so that a task that
 * was acknowledged survives the death of the process. Opening it rewrites it to what still matters.
 */
export function fileJournal(path: string, nowMs: number): Journal {
  const { state } = memoryJournal();
  mkdirSync(dirname(path), { recursive: true });
  if (existsSync(path)) {
    for (const line of readFileSync(path, 'utf8').split('\n')) apply(state, parseJson(line));
  }
  // `nowMs` is the machine's time; names are kept by the time of the service.
  for (const [name, until] of state.tombstones) {
    if (until <= nowMs + state.clockOffset) state.tombstones.delete(name);
  }
  // Written aside and moved into place: a crash in between leaves the old file whole.
  writeFileSync(`${path}.new`, snapshotLines(state).map(encode).join(''));
  renameSync(`${path}.new`, path);
  return { state, append: (line) => appendFileSync(path, encode(line)) };
}
