import { z } from 'zod';
import { settleEffect, settleEffectInput } from '../ledger/effects.ts';
import { deleteHook, putHook, putHookInput } from '../ledger/hooks.ts';
import { putLimits, putLimitsInput } from '../ledger/limits.ts';
import {
  approveMcpTools,
  approveToolsInput,
  deleteMcpServer,
  listMcpServers,
  listMcpTools,
  putMcpServer,
  putServerInput,
} from '../ledger/mcp-servers.ts';
import { resendDelivery } from '../ledger/outbox.ts';
import { listRecipes, publishRecipe } from '../ledger/recipes.ts';
import { deleteSchedule, putSchedule, putScheduleInput } from '../ledger/schedules.ts';
import { KilnError } from '../model/errors.ts';
import { idPattern } from '../model/paths.ts';
import type { Runtime } from '../runner/runtime.ts';
import type { KnowledgeBase } from '../services/kb/knowledge-base.ts';
import type { Operation } from './api.ts';

const id = z.string().regex(idPattern);
const label = z.string().min(1).max(100);

const kbAdd = z.strictObject({
  id: id.optional(),
  title: z.string().min(1).max(300),
  markdown: z.string().min(1),
  collection: label,
  department: label.optional(),
  tags: z.array(label).max(50).optional(),
});
const kbSearch = z.strictObject({
  text: z.string().min(1).max(4_000),
  topK: z.number().int().min(1).max(50).optional(),
  threshold: z.number().min(0).max(1).optional(),
  collection: label.optional(),
  department: label.optional(),
  tags: z.array(label).max(20).optional(),
});
const kbList = z.strictObject({
  collection: label.optional(),
  department: label.optional(),
  limit: z.number().int().min(1).max(200).default(50),
  after: id.optional(),
});
const recipeGet = z.strictObject({ id: z.string().min(1).max(128), version: z.number().int().positive().optional() });

/** What runs use of the world: knowledge, recipes, tool servers, schedules, hooks, limits, deliveries, effects. */
export const worldOperations: Readonly<Record<string, Operation>> = {
  'kb.add': { roles: ['author', 'operator'], run: (runtime, actor, data) => kb(runtime).add(actor.accountId, present(kbAdd.parse(data))) },
  'kb.search': {
    roles: ['viewer', 'author', 'operator', 'approver'],
    run: (runtime, actor, data) => kb(runtime).search(actor.accountId, present(kbSearch.parse(data))),
  },
  'kb.list': {
    roles: ['viewer', 'author', 'operator', 'approver'],
    run: (runtime, actor, data) => kb(runtime).list(actor.accountId, present(kbList.parse(data))),
  },
  'kb.get': {
    roles: ['viewer', 'author', 'operator', 'approver'],
    run: async (runtime, actor, data) => (await kb(runtime).get(actor.accountId, z.strictObject({ id }).parse(data).id)) ?? null,
  },
  'kb.delete': {
    roles: ['author', 'operator'],
    run: (runtime, actor, data) => kb(runtime).delete(actor.accountId, z.strictObject({ id }).parse(data).id),
  },
  'recipes.publish': {
    roles: ['author'],
    run: ({ store, clock }, actor, data) => {
      const { recipe } = z.strictObject({ recipe: z.json() }).parse(data);
      return publishRecipe({ store, now: () => clock.now() }, { accountId: actor.accountId, recipe, publishedBy: actor.uid });
    },
  },
  'recipes.list': { roles: ['viewer', 'author', 'operator'], run: (runtime, actor) => listRecipes(runtime, actor.accountId) },
  'recipes.get': {
    roles: ['viewer', 'author', 'operator'],
    run: (runtime, actor, data) => recipe(runtime, actor.accountId, recipeGet.parse(data)),
  },
  'mcp.put': { roles: [], run: (runtime, actor, data) => putMcpServer(runtime, actor, putServerInput.parse(data)) },
  'mcp.delete': {
    roles: [],
    run: (runtime, actor, data) => deleteMcpServer(runtime, actor, z.strictObject({ serverId: id }).parse(data).serverId),
  },
  'mcp.list': { roles: ['author', 'operator'], run: (runtime, actor) => listMcpServers(runtime, actor.accountId) },
  'mcp.tools': {
    roles: ['author'],
    run: (runtime, actor, data) => listMcpTools(runtime, actor.accountId, z.strictObject({ serverId: id }).parse(data).serverId),
  },
  'mcp.approve': { roles: [], run: (runtime, actor, data) => approveMcpTools(runtime, actor, approveToolsInput.parse(data)) },
  'schedules.put': {
    roles: ['author', 'operator'],
    run: (runtime, actor, data) => putSchedule(runtime, actor, putScheduleInput.parse(data)),
  },
  'schedules.delete': {
    roles: ['author', 'operator'],
    run: (runtime, actor, data) => deleteSchedule(runtime, actor, z.strictObject({ scheduleId: id }).parse(data).scheduleId),
  },
  'hooks.put': { roles: [], run: (runtime, actor, data) => putHook(runtime, actor, putHookInput.parse(data)) },
  'hooks.delete': {
    roles: [],
    run: (runtime, actor, data) => deleteHook(runtime, actor, z.strictObject({ hookId: id }).parse(data).hookId),
  },
  'limits.put': { roles: [], run: (runtime, actor, data) => putLimits(runtime, actor, putLimitsInput.parse(data)) },
  'outbox.resend': {
    roles: ['operator'],
    run: (runtime, actor, data) =>
      resendDelivery(runtime, actor.accountId, z.strictObject({ id: z.string().min(1).max(200) }).parse(data).id),
  },
  'effects.settle': { roles: ['operator'], run: (runtime, actor, data) => settleEffect(runtime, actor, settleEffectInput.parse(data)) },
};

function kb({ services }: Runtime): KnowledgeBase {
  if (services.kb === undefined) throw new KilnError('kb.missing', 'this deployment has no knowledge base');
  return services.kb;
}

async function recipe({ services }: Runtime, accountId: string, { id: recipeId, version }: z.infer<typeof recipeGet>): Promise<unknown> {
  const wanted = version ?? (await services.recipes?.latest(accountId, recipeId));
  if (services.recipes === undefined || wanted === undefined)
    throw new KilnError('recipe.not_found', `there is no recipe "${recipeId}" in this account`);
  return { version: wanted, recipe: await services.recipes.version(accountId, recipeId, wanted) };
}

type Present<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** The interfaces know absent fields, not undefined ones. */
function present<T extends object>(value: T): Present<T> {
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined)) as Present<T>;
}
