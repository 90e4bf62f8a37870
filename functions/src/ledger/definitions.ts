import { LRUCache } from 'lru-cache';
import { indexDefinition } from '../engine/definition-index.ts';
import type { DefinitionIndex } from '../engine/definition-index.ts';
import { digest } from '../engine/json.ts';
import { checkDefinition, parseDefinition } from '../engine/preflight.ts';
import type { StepTypeCatalog } from '../engine/preflight.ts';
import type { Problem } from '../engine/problem.ts';
import { versionRecordSchema, workflowRecordSchema } from '../model/definition.ts';
import type { Definition, VersionRecord, WorkflowRecord } from '../model/definition.ts';
import { KilnError } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import type { Definitions, PinnedVersion } from '../runner/runtime.ts';
import type { Store } from './store.ts';

/** The code workflows that this deployment contains: they are versioned in code, not in documents. */
export interface CodeWorkflows {
  /** The newest version, or the one asked for. */
  pinned(workflowId: string, version?: number): PinnedVersion | undefined;
}

/** What a new run pins: the version that is asked for, or the newest. */
export function pin(
  definitions: Definitions,
  { accountId, workflowId, version }: { readonly accountId: string; readonly workflowId: string; readonly version?: number | undefined },
): Promise<PinnedVersion> {
  return version === undefined ? definitions.latest(accountId, workflowId) : definitions.pinned(accountId, workflowId, version);
}

export interface Publication {
  readonly accountId: string;
  /** Anything; checked whole before anything is stored. */
  readonly definition: unknown;
  readonly publishedBy: string;
  readonly note?: string;
}

export interface Published {
  readonly workflowId: string;
  readonly version: number;
  readonly hash: string;
  /** False when the latest version is this very definition. */
  readonly created: boolean;
}

interface Publisher {
  readonly store: Store;
  readonly types: StepTypeCatalog;
  readonly code: CodeWorkflows;
  /** Database time, ms. */
  readonly now: () => number;
}

/**
 * Stores a definition as the next immutable version. Publishing the latest version again changes nothing, so a lost answer may
 * be followed by another try; of several at once each gets its own number, one after the other.
 *
 * @throws KilnError `definition.invalid`, whose `data.problems` lists every problem
 */
export async function publishWorkflow(publisher: Publisher, publication: Publication): Promise<Published> {
  const { definition, text } = readyToPublish(publisher, publication.definition);
  const { accountId } = publication;
  const workflowId = definition.id;
  const hash = digest(text);
  return publisher.store.transaction(async (tx) => {
    const path = paths.workflow(accountId, workflowId);
    const { docs } = await tx.get([path]);
    const before = docs[0] === undefined ? undefined : workflowRecordSchema.parse(docs[0].data);
    if (before?.hash === hash) return { workflowId, version: before.latest, hash, created: false };
    const version = (before?.latest ?? 0) + 1;
    const now = publisher.now();
    const data: VersionRecord = {
      v: 1,
      workflowId,
      version,
      hash,
      json: text,
      publishedAt: now,
      publishedBy: publication.publishedBy,
      ...(publication.note === undefined ? {} : { note: publication.note }),
    };
    tx.write({ op: 'create', path: paths.version(accountId, workflowId, version), data });
    tx.write({ op: 'set', path, data: workflowRecord(definition, version, hash, now) });
    return { workflowId, version, hash, created: true };
  });
}

function workflowRecord(definition: Definition, latest: number, hash: string, updatedAt: number): WorkflowRecord {
  const { id, name, description } = definition;
  return { v: 1, workflowId: id, name: name ?? id, ...(description === undefined ? {} : { description }), latest, hash, updatedAt };
}

function readyToPublish({ types, code }: Publisher, json: unknown): { readonly definition: Definition; readonly text: string } {
  const { definition, text, problems } = parseDefinition(json);
  if (definition === undefined || text === undefined) throw invalid(problems);
  const found = checkDefinition(indexDefinition(definition), types);
  if (code.pinned(definition.id) !== undefined) {
    found.unshift({ path: 'id', code: 'definition.invalid', message: `"${definition.id}" is a workflow in code; choose another id` });
  }
  if (found.length > 0) throw invalid(found);
  return { definition, text };
}

const PROBLEMS_IN_MESSAGE = 5;

function invalid(problems: readonly Problem[]): KilnError {
  const first = problems.slice(0, PROBLEMS_IN_MESSAGE).map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  const more = problems.length > PROBLEMS_IN_MESSAGE ? `; and ${problems.length - PROBLEMS_IN_MESSAGE} more` : '';
  return new KilnError('definition.invalid', `the definition has ${problems.length} problem(s): ${first.join('; ')}${more}`, {
    data: { problems },
  });
}

/** An index takes several times the memory of its text. */
const CACHE_MAX_CHARS = 16 * 1024 * 1024;

/** Published versions as the runner reads them. They are immutable, so an instance reads each once. */
export class StoredDefinitions implements Definitions {
  readonly #store: Store;
  readonly #code: CodeWorkflows;
  readonly #cache = new LRUCache<string, { readonly index: DefinitionIndex; readonly chars: number }>({
    maxSize: CACHE_MAX_CHARS,
    sizeCalculation: ({ chars }) => Math.max(1, chars),
  });

  constructor(store: Store, code: CodeWorkflows) {
    this.#store = store;
    this.#code = code;
  }

  /** @throws KilnError `definition.not_found`, `definition.corrupted` */
  async get(accountId: string, workflowId: string, version: number): Promise<DefinitionIndex> {
    const path = paths.version(accountId, workflowId, version);
    const known = this.#cache.get(path);
    if (known !== undefined) return known.index;
    const { docs } = await this.#store.get([path]);
    if (docs[0] === undefined) {
      throw new KilnError('definition.not_found', `there is no version ${version} of workflow "${workflowId}" in this account`);
    }
    const { json, hash } = versionRecordSchema.parse(docs[0].data);
    if (digest(json) !== hash) {
      throw new KilnError('definition.corrupted', `version ${version} of workflow "${workflowId}" was changed after it was published`);
    }
    // Not checked against today's schema: it was checked when it was published, and a run goes on with what it pinned even when
    // a newer deployment has become stricter. New runs are checked again before their first step.
    const index = indexDefinition(JSON.parse(json) as Definition);
    this.#cache.set(path, { index, chars: json.length });
    return index;
  }

  /** @throws KilnError `definition.not_found` */
  async latest(accountId: string, workflowId: string): Promise<PinnedVersion> {
    const code = this.#code.pinned(workflowId);
    if (code !== undefined) return code;
    const { docs } = await this.#store.get([paths.workflow(accountId, workflowId)]);
    if (docs[0] === undefined) throw new KilnError('definition.not_found', `there is no workflow "${workflowId}" in this account`);
    const { latest, hash } = workflowRecordSchema.parse(docs[0].data);
    return { kind: 'graph', version: latest, hash };
  }

  /** @throws KilnError `definition.not_found` */
  async pinned(accountId: string, workflowId: string, version: number): Promise<PinnedVersion> {
    const code = this.#code.pinned(workflowId, version);
    if (code !== undefined) return code;
    const { docs } = await this.#store.get([paths.version(accountId, workflowId, version)]);
    if (docs[0] === undefined)
      throw new KilnError('definition.not_found', `there is no version ${version} of workflow "${workflowId}" in this account`);
    return { kind: 'graph', version, hash: versionRecordSchema.parse(docs[0].data).hash };
  }
}
