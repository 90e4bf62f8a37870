import type { DefinitionIndex } from '../engine/definition-index.ts';
import type { Problem } from '../engine/problem.ts';
import type { Citation, RunContext } from '../model/recipe.ts';
import type { RunRecord } from '../model/run.ts';
import type { KbDocument, KnowledgeBase } from '../services/kb/knowledge-base.ts';
import type { Runtime } from './runtime.ts';

export type ContextFound = { readonly context?: RunContext; readonly problems: readonly Problem[] };

/** More would not fit into a prompt anyway; retrieval narrows them down. */
export const CONTEXT_DOCUMENTS_MAX = 100;

/**
 * Settles once, for the whole run, which documents its recipes may use and which version of each recipe: a version that is published
 * while the run is under way changes nothing in it. Nothing is read where the workflow uses neither.
 */
export async function resolveContext(runtime: Runtime, run: RunRecord, index: DefinitionIndex): Promise<ContextFound> {
  const documents = await documentsOf(runtime, run, index);
  const recipes = await recipesOf(runtime, run, index);
  const problems = [...documents.problems, ...recipes.problems];
  if (documents.found.length === 0 && Object.keys(recipes.found).length === 0) return { problems };
  return { context: { documents: documents.found, recipes: recipes.found }, problems };
}

interface Documents {
  readonly found: Citation[];
  readonly problems: readonly Problem[];
}

async function documentsOf({ services }: Runtime, { accountId }: RunRecord, { definition }: DefinitionIndex): Promise<Documents> {
  const { context, department } = definition;
  if (context === undefined) return { found: [], problems: [] };
  const { kb } = services;
  if (kb === undefined)
    return { found: [], problems: [{ path: 'context', code: 'kb.missing', message: 'this deployment has no knowledge base' }] };
  const problems: Problem[] = [];
  const found = new Map<string, Citation>();
  const add = (document: KbDocument): void => void found.set(document.id, citationOf(document));
  for (const [n, id] of (context.documents ?? []).entries()) {
    const document = await kb.get(accountId, id);
    if (document === undefined)
      problems.push({ path: `context.documents[${n}]`, code: 'kb.not_found', message: `the knowledge base has no document "${id}"` });
    else add(document);
  }
  for (const collection of context.collections ?? []) for (const document of await listed(kb, accountId, { collection })) add(document);
  if (context.department === true && department !== undefined)
    for (const document of await listed(kb, accountId, { department })) add(document);
  if (context.department === true && department === undefined)
    problems.push({
      path: 'context.department',
      code: 'definition.invalid',
      message: 'the workflow names no department; add "department"',
    });
  return { found: [...found.values()].slice(0, CONTEXT_DOCUMENTS_MAX), problems };
}

async function listed(
  kb: KnowledgeBase,
  accountId: string,
  filter: { collection: string } | { department: string },
): Promise<readonly KbDocument[]> {
  return (await kb.list(accountId, { ...filter, limit: CONTEXT_DOCUMENTS_MAX })).documents;
}

export function citationOf({ id, version, title, collection }: KbDocument): Citation {
  return { documentId: id, version, title, collection };
}

interface Recipes {
  readonly found: Record<string, number>;
  readonly problems: readonly Problem[];
}

async function recipesOf({ services }: Runtime, { accountId }: RunRecord, { places }: DefinitionIndex): Promise<Recipes> {
  const found: Record<string, number> = {};
  const problems: Problem[] = [];
  for (const { step, path } of places.values()) {
    const used = step.type === 'recipe' && 'recipe' in step ? step['recipe'] : undefined;
    // A pinned version is settled already.
    if (typeof used !== 'string' || found[used] !== undefined) continue;
    const latest = await services.recipes?.latest(accountId, used);
    if (latest === undefined)
      problems.push({ path: `${path}.recipe`, code: 'recipe.not_found', message: `there is no recipe "${used}" in this account` });
    else found[used] = latest;
  }
  return { found, problems };
}
