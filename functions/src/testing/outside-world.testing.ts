import { digest } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import type { HttpRequest, HttpResponse } from '../services/http/client.ts';
import { createGuard } from '../services/http/guard.ts';
import type { KbHit, KbInput, KnowledgeBase } from '../services/kb/knowledge-base.ts';
import type { CompletionRequest, LlmClient } from '../services/llm.ts';
import type { McpClient, ToolCall } from '../services/mcp/pool.ts';
import { toMcpTool } from '../services/mcp/tools.ts';
import type { StepServices } from '../steps/step-type.ts';

interface World {
  /** What an address answers; what it throws is how the call failed. */
  readonly answerTo: (request: HttpRequest) => Json;
  /** What a model answers: text, or JSON. */
  readonly modelSays: (request: CompletionRequest) => Json;
  readonly secrets: Readonly<Record<string, string>>;
  /** A server `browser` has these tools, all approved; each answers with its name. */
  readonly tools: readonly string[];
  /** Published recipes: the prompt of each version. */
  readonly recipes: Readonly<Record<string, readonly string[]>>;
  readonly knowledge: readonly (KbInput & { readonly id: string })[];
}

/** Every service that steps use, and what it was asked. */
export interface OutsideWorld {
  readonly requests: HttpRequest[];
  readonly asked: CompletionRequest[];
  readonly toolCalls: ToolCall[];
  /** The knowledge base, by the ids of its documents. */
  readonly documents: Map<string, KbInput>;
  readonly services: Partial<StepServices>;
}

/** All services in memory at once, so that the code of the step types itself performs. */
export function outsideWorld(world: World): OutsideWorld {
  const requests: HttpRequest[] = [];
  const asked: CompletionRequest[] = [];
  const toolCalls: ToolCall[] = [];
  const documents = new Map<string, KbInput>(world.knowledge.map((document) => [document.id, document]));
  const guard = createGuard();
  return {
    requests,
    asked,
    toolCalls,
    documents,
    services: {
      secrets: { get: (name) => world.secrets[name] },
      http: {
        check: (url) => guard.check(url),
        // A thrown error is a rejection, as a client's is.
        request: async (request) => {
          requests.push(request);
          return jsonResponse(request, world.answerTo(request));
        },
      },
      llm: llmOf(asked, world.modelSays),
      kb: knowledgeBaseOf(documents),
      mcp: mcpOf(toolCalls, world.tools),
      mcpServers: {
        get: (accountId, serverId) => {
          const toolHashes = Object.fromEntries(world.tools.map((name) => [name, toolNamed(name).hash]));
          const server = { v: 1, accountId, serverId, url: 'https://mcp.example/', toolHashes, updatedAt: 0, updatedBy: 'ada' } as const;
          return Promise.resolve(serverId === 'browser' ? { ...server, secretHeaders: {} } : undefined);
        },
      },
      recipes: {
        latest: (_accountId, id) => Promise.resolve(world.recipes[id]?.length),
        version: (_accountId, id, version) => Promise.resolve({ id, prompt: world.recipes[id]?.[version - 1] ?? '' }),
      },
    },
  };
}

function jsonResponse({ url }: HttpRequest, json: Json): HttpResponse {
  const text = JSON.stringify(json);
  const headers = { 'content-type': 'application/json' };
  return { status: 200, headers, bytes: Buffer.from(text), text, json, origin: new URL(url).origin, redirects: 0 };
}

function llmOf(asked: CompletionRequest[], modelSays: World['modelSays']): LlmClient {
  return {
    complete: (request) => {
      asked.push(request);
      const answer = modelSays(request);
      return Promise.resolve({
        text: typeof answer === 'string' ? answer : JSON.stringify(answer),
        model: request.model,
        usage: { inputTokens: 100, cachedInputTokens: 0, outputTokens: 10, reasoningTokens: 0 },
        finishReason: 'stop',
        refusal: undefined,
        requestId: `req-${asked.length}`,
        latencyMs: 1,
      });
    },
    embed: () => Promise.reject(new Error('not asked')),
  };
}

function toolNamed(name: string) {
  return toMcpTool({ name, description: name, inputSchema: { type: 'object' } });
}

function mcpOf(calls: ToolCall[], tools: readonly string[]): McpClient {
  return {
    listTools: () => Promise.resolve(tools.map(toolNamed)),
    callTool: (call) => {
      calls.push(call);
      return Promise.resolve({ isError: false, text: call.tool, images: [], other: [] });
    },
  };
}

/** Finds everything in the collection, whatever is asked: what fits is not the matter of these tests. */
function knowledgeBaseOf(documents: Map<string, KbInput>): KnowledgeBase {
  const notAsked = (): never => {
    throw new Error('not asked');
  };
  return {
    add: (_accountId, input) => {
      const id = input.id ?? digest(`${input.collection}/${input.title}`).slice(0, 20);
      const changed = documents.get(id)?.markdown !== input.markdown;
      documents.set(id, input);
      return Promise.resolve({ id, version: 1, changed, chunkCount: 1 });
    },
    search: (_accountId, { collection, topK = 10 }) => {
      const found = [...documents].filter(([, document]) => document.collection === collection).slice(0, topK);
      return Promise.resolve(
        found.map(([documentId, { title, collection: of, markdown }], n): KbHit => ({
          documentId,
          version: 1,
          title,
          collection: of,
          heading: title,
          n,
          text: markdown,
          score: 0.9,
          method: 'keyword',
        })),
      );
    },
    get: notAsked,
    list: notAsked,
    delete: notAsked,
  };
}
