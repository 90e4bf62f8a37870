import { LRUCache } from 'lru-cache';
import { checkCondition } from '../engine/conditions.ts';
import { canonicalJson, digest, parseJson } from '../engine/json.ts';
import type { Problem } from '../engine/problem.ts';
import { checkSchema } from '../engine/schema-check.ts';
import { templatesIn } from '../engine/templates.ts';
import { zodProblems } from '../engine/zod-problems.ts';
import { KilnError } from '../model/errors.ts';
import { paths } from '../model/paths.ts';
import { recipeRecordSchema, recipeSchema, recipeVersionRecordSchema } from '../model/recipe.ts';
import type { Recipe, RecipeRecord, RecipeVersionRecord } from '../model/recipe.ts';
import type { RecipeSource } from '../steps/step-type.ts';
import type { Store } from './store.ts';

interface Publisher {
  readonly store: Store;
  readonly now: () => number;
}

interface Publication {
  readonly accountId: string;
  readonly recipe: unknown;
  readonly publishedBy: string;
}

export interface PublishedRecipe {
  readonly recipeId: string;
  readonly version: number;
  readonly hash: string;
  readonly created: boolean;
}

const LIST_MAX = 200;
const CACHE_MAX_CHARS = 4 * 1024 * 1024;

/** Stores a recipe as the next immutable version. The latest version again changes nothing. Throws `definition.invalid` with every problem. */
export async function publishRecipe({ store, now }: Publisher, publication: Publication): Promise<PublishedRecipe> {
  const { recipe, text } = checkedRecipe(publication.recipe);
  const { accountId, publishedBy } = publication;
  const recipeId = recipe.id;
  const hash = digest(text);
  return store.transaction(async (tx) => {
    const path = paths.recipe(accountId, recipeId);
    const { docs } = await tx.get([path]);
    const before = docs[0] === undefined ? undefined : recipeRecordSchema.parse(docs[0].data);
    if (before?.hash === hash) return { recipeId, version: before.latest, hash, created: false };
    const version = (before?.latest ?? 0) + 1;
    const at = now();
    const data: RecipeVersionRecord = { v: 1, recipeId, version, hash, json: text, publishedAt: at, publishedBy };
    const { name, description } = recipe;
    const record: RecipeRecord = {
      v: 1,
      recipeId,
      name: name ?? recipeId,
      ...(description === undefined ? {} : { description }),
      latest: version,
      hash,
      updatedAt: at,
    };
    tx.write({ op: 'create', path: paths.recipeVersion(accountId, recipeId, version), data });
    tx.write({ op: 'set', path, data: record });
    return { recipeId, version, hash, created: true };
  });
}

function checkedRecipe(given: unknown): { readonly recipe: Recipe; readonly text: string } {
  const text = canonicalJson(given);
  const value = parseJson(text);
  const parsed = recipeSchema.safeParse(value);
  const problems = parsed.success ? problemsOf(parsed.data) : zodProblems(parsed.error.issues, value, { code: 'definition.invalid' });
  if (!parsed.success || problems.length > 0) {
    const first = problems.slice(0, 5).map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
    throw new KilnError('definition.invalid', `the recipe has ${problems.length} problem(s): ${first.join('; ')}`, { data: { problems } });
  }
  return { recipe: parsed.data, text };
}

function problemsOf(recipe: Recipe): Problem[] {
  const { schema, policy } = recipe;
  const templates = (['prompt', 'system'] as const).flatMap((field): Problem[] => {
    const { references, problems } = templatesIn(recipe[field] ?? '');
    const foreign = references.filter(({ reference }) => reference.root !== 'input');
    return [
      ...problems.map((problem) => ({ ...problem, path: field })),
      ...foreign.map(({ reference }) => ({
        path: field,
        code: 'template.missing_step' as const,
        message: `${reference.text}: a recipe sees its inputs only, so that it can be used anywhere; write {{input.name}}`,
      })),
    ];
  });
  const rules = (policy ?? []).flatMap((rule, n) =>
    checkCondition(typeof rule === 'string' ? rule : rule.rule).map((problem) => ({ ...problem, path: `policy[${n}]` })),
  );
  const shape = schema === undefined ? [] : checkSchema(schema).map((problem) => ({ ...problem, path: `schema${problem.path}` }));
  return [...templates, ...shape, ...rules];
}

export async function listRecipes({ store }: Pick<Publisher, 'store'>, accountId: string): Promise<readonly RecipeRecord[]> {
  const { docs } = await store.query({ from: paths.recipes(accountId), where: [], limit: LIST_MAX });
  return docs.map((doc) => recipeRecordSchema.parse(doc.data));
}

/** Published recipes as steps read them. Versions are immutable, so an instance reads each once. */
export class StoredRecipes implements RecipeSource {
  readonly #store: Pick<Store, 'get'>;
  readonly #cache = new LRUCache<string, { readonly recipe: Recipe; readonly chars: number }>({
    maxSize: CACHE_MAX_CHARS,
    sizeCalculation: ({ chars }) => Math.max(1, chars),
  });

  constructor(store: Pick<Store, 'get'>) {
    this.#store = store;
  }

  async latest(accountId: string, recipeId: string): Promise<number | undefined> {
    const { docs } = await this.#store.get([paths.recipe(accountId, recipeId)]);
    return docs[0] === undefined ? undefined : recipeRecordSchema.parse(docs[0].data).latest;
  }

  async version(accountId: string, recipeId: string, version: number): Promise<Recipe> {
    const path = paths.recipeVersion(accountId, recipeId, version);
    const known = this.#cache.get(path);
    if (known !== undefined) return known.recipe;
    const { docs } = await this.#store.get([path]);
    if (docs[0] === undefined) throw new KilnError('recipe.not_found', `there is no version ${version} of recipe "${recipeId}"`);
    const { json, hash } = recipeVersionRecordSchema.parse(docs[0].data);
    if (digest(json) !== hash)
      throw new KilnError('definition.corrupted', `version ${version} of recipe "${recipeId}" was changed after it was published`);
    const recipe = JSON.parse(json) as Recipe;
    this.#cache.set(path, { recipe, chars: json.length });
    return recipe;
  }
}
