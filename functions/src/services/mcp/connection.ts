import { AsyncLocalStorage } from 'node:async_hooks';
import type { CallToolResult, Client, StreamableHTTPClientTransport, Tool } from '@modelcontextprotocol/client';
import type { GuardedFetch } from '../http/fetch.ts';
import type { McpServer } from './tools.ts';

/** How far one tool call has got. The SDK does not say, and does not notice a reply that will never come. */
export interface CallProgress {
  /** The request has left; the tool may act. */
  sent: boolean;
  /** The server numbers its events, so the SDK can pick a broken stream up again. */
  resumable: boolean;
  /** The stream that should have carried the reply is gone. */
  readonly lose: (cause: unknown) => void;
}

/** Which call a `fetch` belongs to: the SDK calls it within the call's own asynchronous context. */
const currentCall = new AsyncLocalStorage<CallProgress>();

/** The reply of a call was lost with its stream. */
export class LostReply extends Error {
  override readonly name = 'LostReply';
}

/** How long the SDK gets to hand over a reply that came in the last bytes of a stream. */
const LAST_BYTES_MS = 250;
const CLOSE_MS = 2_000;

/** One session with a server. It is closed when it is retired and no call uses it any more. */
export class McpConnection {
  readonly #client: Client;
  readonly #transport: StreamableHTTPClientTransport;
  readonly #calls = new Set<CallProgress>();
  #retired = false;
  #closed: Promise<void> | undefined;
  lastUsedAt: number;

  private constructor(client: Client, transport: StreamableHTTPClientTransport, now: number) {
    this.#client = client;
    this.#transport = transport;
    this.lastUsedAt = now;
    client.onerror = (error) => {
      if (error.message.startsWith('Maximum reconnection attempts')) for (const call of this.#calls) call.lose(error);
    };
    client.onclose = () => {
      for (const call of this.#calls) call.lose(new Error('the connection was closed'));
    };
  }

  /** Connects and shakes hands. Announces no capabilities: a server cannot ask for sampling, input or files. */
  static async open(server: McpServer, fetch: GuardedFetch, timeoutMs: number, now: number): Promise<McpConnection> {
    const sdk = await import('@modelcontextprotocol/client');
    const client = new sdk.Client(
      { name: 'kiln', version: '1' },
      server.negotiate === true ? { versionNegotiation: { mode: 'auto' } } : {},
    );
    const transport = new sdk.StreamableHTTPClientTransport(new URL(server.url), {
      fetch: observed(fetch),
      requestInit: { headers: { ...server.headers } },
    });
    try {
      await client.connect(transport, { signal: AbortSignal.timeout(timeoutMs), timeout: timeoutMs });
    } catch (error) {
      await transport.close();
      throw error;
    }
    return new McpConnection(client, transport, now);
  }

  get busy(): boolean {
    return this.#calls.size > 0;
  }

  /** Whether the session still answers. Sessions of the 2026 revision have no state that could be lost. */
  async isAlive(timeoutMs: number): Promise<boolean> {
    if (this.#client.getProtocolEra() === 'modern') return true;
    try {
      await this.#client.ping({ timeout: timeoutMs });
      return true;
    } catch {
      return false;
    }
  }

  async listTools(signal: AbortSignal, timeoutMs: number): Promise<readonly Tool[]> {
    return (await this.#client.listTools(undefined, { signal, timeout: timeoutMs, cacheMode: 'bypass' })).tools;
  }

  /** `progress` is told how far the call got. Rejects with the SDK's errors, those of `fetch`, or `LostReply`. */
  async callTool(
    tool: Tool,
    args: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
    timeoutMs: number,
    progress: { sent: boolean },
  ): Promise<CallToolResult> {
    let lose: (cause: unknown) => void = () => undefined;
    const lost = new Promise<never>((_, reject) => (lose = (cause) => reject(new LostReply('the reply was lost', { cause }))));
    const abandon = new AbortController();
    const call: CallProgress = {
      get sent() {
        return progress.sent;
      },
      set sent(value) {
        progress.sent = value;
      },
      resumable: false,
      lose,
    };
    // The result is kept whatever the tool's own output schema says: it has acted, and the caller validates.
    const { outputSchema: _unused, ...toolDefinition } = tool;
    const options = {
      signal: AbortSignal.any([signal, abandon.signal]),
      timeout: timeoutMs,
      toolDefinition,
      onresumptiontoken: () => (call.resumable = true),
    };
    this.#calls.add(call);
    try {
      const reply = currentCall.run(call, () => this.#client.callTool({ name: tool.name, arguments: { ...args } }, options));
      return await Promise.race([reply, lost]);
    } finally {
      this.#calls.delete(call);
      abandon.abort();
      if (this.#retired) void this.#closeWhenIdle();
    }
  }

  /** No new calls; closes at once or with the last running call. */
  retire(): Promise<void> {
    this.#retired = true;
    return this.#closeWhenIdle();
  }

  #closeWhenIdle(): Promise<void> {
    if (this.#calls.size > 0) return Promise.resolve();
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    // Tells the server to free what the session holds (a browser, for example); a server that does not answer is left alone.
    const goodbye = this.#transport.terminateSession().catch(() => undefined);
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => (timer = setTimeout(resolve, CLOSE_MS)));
    await Promise.race([goodbye, patience]);
    clearTimeout(timer);
    await this.#client.close().catch(() => undefined);
  }
}

/** Wraps `fetch` so that a call learns when its request leaves and when its reply stream ends. */
function observed(fetch: GuardedFetch): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init) => {
    const call = currentCall.getStore();
    if (call === undefined || init?.method !== 'POST' || typeof init.body !== 'string' || !init.body.includes('"method":"tools/call"'))
      return fetch(url, init);
    const response = await fetch(url, init, { onSent: () => (call.sent = true) });
    const isStream = response.headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') === true;
    if (response.body === null || !isStream) return response;
    return new Response(watched(response.body, call), { status: response.status, headers: response.headers });
  };
}

/** The same stream; its end or failure is the end of hope for a reply, unless the SDK can resume it. */
function watched(body: ReadableStream<Uint8Array>, call: CallProgress): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const ended = (cause: unknown): void => {
    setTimeout(() => {
      if (!call.resumable) call.lose(cause);
    }, LAST_BYTES_MS).unref();
  };
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        ended(new Error('the stream ended without a reply'));
        controller.close();
      } catch (error) {
        ended(error);
        controller.error(error);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
