import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { LRUCache } from 'lru-cache';
import { canonicalJson, digest } from '../../engine/json.ts';
import { KilnError } from '../../model/errors.ts';
import { abortable, type Deadline, deadline } from '../http/deadline.ts';
import type { GuardedFetch } from '../http/fetch.ts';
import { McpConnection } from './connection.ts';
import { mcpError } from './errors.ts';
import { type McpServer, type McpTool, type ToolResult, toMcpTool, toToolResult } from './tools.ts';

/** Whose connection it is. Connections are shared within one account and session only, so no credentials, cookies or pages leak between them. */
export interface McpScope {
  readonly accountId: string;
  readonly server: McpServer;
  /** For servers with state, such as a browser: usually the run's id. */
  readonly session: string;
}

export interface McpLimits {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface ToolCall extends McpScope, McpLimits {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** The hash that was approved; any other description of the tool ends as `mcp.tool_changed`. */
  readonly pinnedHash?: string;
  /** The definition's own word that the call may be repeated. */
  readonly idempotent?: boolean;
}

export interface McpClient {
  /** Errors: `http.*`, `mcp.protocol`, `step.timeout`. */
  listTools(scope: McpScope & McpLimits): Promise<readonly McpTool[]>;
  /**
   * Errors: as above, and `mcp.tool_missing`, `mcp.tool_not_allowed`, `mcp.tool_changed`. A call that left and got no reply
   * is `http.interrupted` (outcome unknown) unless the tool says it is read-only or idempotent. A failure that the
   * tool itself reports is a result with `isError`.
   */
  callTool(call: ToolCall): Promise<ToolResult>;
}

export interface McpPoolOptions {
  readonly fetch: GuardedFetch;
  readonly now: () => number;
  readonly maxConnections?: number;
  readonly idleMs?: number;
}

const MAX_CONNECTIONS = 20;
const IDLE_MS = 60_000;
/** A connection that rested longer is asked for a sign of life before it is trusted with a call. */
const CHECK_AFTER_MS = 5_000;
const PING_MS = 3_000;
const CONNECT_MS = 20_000;
/** How old a list of tools may be when a call relies on it. */
const TOOLS_FRESH_MS = 30_000;

/** A place in the pool: a connection, or one that is being opened. */
interface Slot {
  readonly connection: Promise<McpConnection>;
  tools: { readonly list: readonly Tool[]; readonly at: number } | undefined;
}

/** Keeps connections to MCP servers for reuse: the least recently used goes first, idle ones after a minute. */
export class McpPool implements McpClient {
  readonly #fetch: GuardedFetch;
  readonly #now: () => number;
  readonly #slots: LRUCache<string, Slot>;
  readonly #idleMs: number;

  constructor(options: McpPoolOptions) {
    this.#fetch = options.fetch;
    this.#now = options.now;
    this.#idleMs = options.idleMs ?? IDLE_MS;
    this.#slots = new LRUCache<string, Slot>({
      max: options.maxConnections ?? MAX_CONNECTIONS,
      ttl: this.#idleMs,
      ttlAutopurge: true,
      updateAgeOnGet: true,
      dispose: (slot) => void closeSlot(slot),
    });
  }

  get size(): number {
    return this.#slots.size;
  }

  async listTools(scope: McpScope & McpLimits): Promise<readonly McpTool[]> {
    const limit = deadline(scope.timeoutMs, scope.signal);
    const key = keyOf(scope);
    let slot: Slot | undefined;
    try {
      slot = await this.#checkOut(key, scope.server, limit);
      return (await this.#toolsOf(slot, limit, 0)).map(toMcpTool);
    } catch (error) {
      this.#drop(key, slot);
      throw this.#failure(error, scope, limit, { sent: false }, true);
    } finally {
      void this.#rest(key, slot);
    }
  }

  async callTool(call: ToolCall): Promise<ToolResult> {
    const { server, tool: name } = call;
    if (server.allowedTools !== undefined && !server.allowedTools.includes(name)) {
      throw new KilnError('mcp.tool_not_allowed', `The tool ${name} is not on the allow-list of the server ${server.id}.`);
    }
    const limit = deadline(call.timeoutMs, call.signal);
    const key = keyOf(call);
    const progress = { sent: false };
    let slot: Slot | undefined;
    let repeatable = true;
    try {
      slot = await this.#checkOut(key, server, limit);
      const tool = await this.#findTool(slot, call, limit);
      repeatable = call.idempotent === true || tool.annotations?.readOnlyHint === true || tool.annotations?.idempotentHint === true;
      return toToolResult(await this.#perform(slot, tool, call, limit, progress));
    } catch (error) {
      const failure = this.#failure(error, call, limit, progress, repeatable);
      // After anything but a clear answer the connection is not trusted again: the next call gets a fresh one.
      if (!failure.code.startsWith('mcp.')) this.#drop(key, slot);
      throw failure;
    } finally {
      void this.#rest(key, slot);
    }
  }

  /** Closes all connections; one with a running call closes after it. */
  async close(): Promise<void> {
    const slots = [...this.#slots.values()];
    this.#slots.clear();
    await Promise.all(slots.map(closeSlot));
  }

  async #perform(slot: Slot, tool: Tool, call: ToolCall, limit: Deadline, progress: { sent: boolean }): Promise<CallToolResult> {
    const connection = await slot.connection;
    try {
      return await connection.callTool(tool, call.args, limit.signal, limit.timeoutMs + 1_000, progress);
    } finally {
      connection.lastUsedAt = this.#now();
    }
  }

  /** Idle from now on, unless somebody else uses it. */
  async #rest(key: string, slot: Slot | undefined): Promise<void> {
    const connection = await slot?.connection.catch(() => undefined);
    if (slot !== undefined && connection?.busy === false) this.#keep(key, slot, this.#idleMs);
  }

  #keep(key: string, slot: Slot, ttl: number): void {
    if (this.#slots.peek(key) === slot) this.#slots.set(key, slot, { ttl });
  }

  async #checkOut(key: string, server: McpServer, limit: Deadline): Promise<Slot> {
    limit.signal.throwIfAborted();
    const existing = this.#slots.get(key);
    // Not idle while it is used, however long that takes.
    const ttl = limit.timeoutMs + this.#idleMs;
    if (existing !== undefined) this.#keep(key, existing, ttl);
    if (existing !== undefined && (await abortable(this.#answers(existing), limit.signal))) return existing;
    // Another call may have replaced it while this one waited for a sign of life.
    const replacement = this.#slots.get(key);
    if (replacement !== undefined && replacement !== existing) return replacement;
    // Opened on nobody's behalf: a caller who gives up must not take the connection away from the others who wait for it.
    const slot: Slot = { connection: McpConnection.open(server, this.#fetch, CONNECT_MS, this.#now()), tools: undefined };
    slot.connection.catch(() => this.#drop(key, slot));
    this.#slots.set(key, slot, { ttl });
    await abortable(slot.connection, limit.signal);
    return slot;
  }

  async #answers(slot: Slot): Promise<boolean> {
    const connection = await slot.connection;
    return connection.busy || this.#now() - connection.lastUsedAt <= CHECK_AFTER_MS || connection.isAlive(PING_MS);
  }

  async #toolsOf(slot: Slot, limit: Deadline, freshMs: number): Promise<readonly Tool[]> {
    if (slot.tools !== undefined && this.#now() - slot.tools.at < freshMs) return slot.tools.list;
    const connection = await slot.connection;
    const list = await connection.listTools(limit.signal, limit.timeoutMs);
    slot.tools = { list, at: this.#now() };
    return list;
  }

  async #findTool(slot: Slot, call: ToolCall, limit: Deadline): Promise<Tool> {
    const known = await this.#toolsOf(slot, limit, TOOLS_FRESH_MS);
    const found =
      known.find(({ name }) => name === call.tool) ?? (await this.#toolsOf(slot, limit, 0)).find(({ name }) => name === call.tool);
    if (found === undefined) {
      const names = (slot.tools?.list ?? []).map(({ name }) => name);
      throw new KilnError(
        'mcp.tool_missing',
        `The server ${call.server.id} has no tool ${call.tool}; it offers: ${names.slice(0, 50).join(', ') || 'none'}.`,
      );
    }
    if (call.pinnedHash !== undefined && toMcpTool(found).hash !== call.pinnedHash) {
      throw new KilnError(
        'mcp.tool_changed',
        `The tool ${call.tool} of the server ${call.server.id} is not described as it was when it was approved.`,
        { data: { hash: toMcpTool(found).hash, approved: call.pinnedHash } },
      );
    }
    return found;
  }

  #drop(key: string, slot: Slot | undefined): void {
    if (slot !== undefined && this.#slots.peek(key) === slot) this.#slots.delete(key);
  }

  #failure(error: unknown, scope: McpScope, limit: Deadline, progress: { readonly sent: boolean }, repeatable: boolean): KilnError {
    const origin = URL.parse(scope.server.url)?.origin ?? 'its address';
    return mcpError(error, { serverId: scope.server.id, origin, limit, now: this.#now(), sent: progress.sent, repeatable });
  }
}

function keyOf({ accountId, server, session }: McpScope): string {
  return digest(canonicalJson([accountId, session, server.url, server.headers ?? {}, server.negotiate === true]));
}

async function closeSlot(slot: Slot): Promise<void> {
  // A connection that never came about has nothing to close.
  const connection = await slot.connection.catch(() => undefined);
  await connection?.retire();
}
