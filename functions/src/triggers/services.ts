import { randomBytes } from 'node:crypto';
import type { Firestore } from 'firebase-admin/firestore';
import { StoredMcpServers } from '../ledger/mcp-servers.ts';
import { StoredMembers } from '../ledger/members.ts';
import { StoredRecipes } from '../ledger/recipes.ts';
import type { Runtime } from '../runner/runtime.ts';
import { createGuardedFetch } from '../services/http/fetch.ts';
import { createHttpClient } from '../services/http/client.ts';
import { createGuard, parseAllowedHosts } from '../services/http/guard.ts';
import { llmEmbedder } from '../services/kb/embedder.ts';
import { createKnowledgeBase } from '../services/kb/firestore-knowledge-base.ts';
import { createLlmClient } from '../services/llm.ts';
import { McpPool } from '../services/mcp/pool.ts';
import { environmentSecrets } from '../services/secrets.ts';
import { ActionRegistry } from '../steps/action-registry.ts';
import type { Action } from '../steps/action-registry.ts';
import type { StepServices } from '../steps/step-type.ts';
import type { Config } from './config.ts';

/** Of the vector indexes in firestore.indexes.json. */
const EMBEDDING_DIMENSIONS = 1_536;

/** The outside world of this deployment. Each adapter loads its SDK when it is first used. */
export function createServices(config: Config, store: Runtime['store'], db: Firestore, actions: readonly Action[]): StepServices {
  const now = (): number => Date.now();
  const guard = createGuard({ allowPrivateHosts: parseAllowedHosts(config.allowPrivateHosts) });
  const llm =
    config.openaiApiKey === undefined
      ? undefined
      : createLlmClient({ apiKey: () => config.openaiApiKey, baseUrl: config.openaiBaseUrl, now });
  const embedder =
    llm === undefined || config.embeddingModel === undefined ? undefined : llmEmbedder(llm, config.embeddingModel, EMBEDDING_DIMENSIONS);
  return {
    actions: new ActionRegistry(actions),
    members: new StoredMembers(store),
    secrets: environmentSecrets(process.env, config.secretNames),
    http: { ...createHttpClient(guard), check: (url) => guard.check(url) },
    mcp: new McpPool({ fetch: createGuardedFetch(guard), now }),
    mcpServers: new StoredMcpServers(store),
    recipes: new StoredRecipes(store),
    kb: createKnowledgeBase({ db, embedder, now, newId: () => randomBytes(12).toString('hex') }),
    ...(llm === undefined ? {} : { llm }),
    ...(config.defaultModel === undefined ? {} : { defaultModel: config.defaultModel }),
  };
}
