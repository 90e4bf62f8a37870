import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { canonicalJson, digest, type Json } from '../../engine/json.ts';

/** A server of an account, with its secrets filled in. */
export interface McpServer {
  readonly id: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The only tools that may be called; absent means none is excluded. */
  readonly allowedTools?: readonly string[];
  /** Asks the server first whether it speaks the revision of 2026-07-28; otherwise the 2025 handshake is used, which nearly all servers know. */
  readonly negotiate?: boolean;
}

export interface McpTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Json;
  /** What the server says of itself; nobody has proved it. */
  readonly readOnly: boolean;
  readonly idempotent: boolean;
  readonly destructive: boolean;
  /** Changes when anything a person approved, or Kiln relies on, changes. */
  readonly hash: string;
}

/** What a tool gave back: data, never instructions. */
export interface ToolResult {
  /** The tool ran and reports a failure of its own. */
  readonly isError: boolean;
  readonly text: string;
  /** Base64. */
  readonly images: readonly { readonly mimeType: string; readonly data: string }[];
  readonly structured?: Json;
  /** Content of other kinds (audio, resources), as it came. */
  readonly other: readonly Json[];
}

/** Name, description and arguments are what a person approves; the annotations decide whether a call is repeated or needs approval. */
export function toolHash(tool: Pick<Tool, 'name' | 'description' | 'inputSchema' | 'annotations'>): string {
  return digest(
    canonicalJson({
      name: tool.name,
      description: tool.description ?? '',
      inputSchema: tool.inputSchema,
      annotations: tool.annotations ?? {},
    }),
  );
}

export function toMcpTool(tool: Tool): McpTool {
  return {
    name: tool.name,
    description: tool.description ?? '',
    inputSchema: tool.inputSchema as Json,
    readOnly: tool.annotations?.readOnlyHint === true,
    idempotent: tool.annotations?.idempotentHint === true,
    // Destructive unless the server says otherwise, as the protocol has it.
    destructive: tool.annotations?.readOnlyHint !== true && tool.annotations?.destructiveHint !== false,
    hash: toolHash(tool),
  };
}

export function toToolResult(result: CallToolResult): ToolResult {
  const texts: string[] = [];
  const images: { mimeType: string; data: string }[] = [];
  const other: Json[] = [];
  for (const part of result.content) {
    if (part.type === 'text') texts.push(part.text);
    else if (part.type === 'image') images.push({ mimeType: part.mimeType, data: part.data });
    else other.push(part as Json);
  }
  const structured = result.structuredContent;
  return {
    isError: result.isError === true,
    text: texts.join('\n'),
    images,
    other,
    ...(structured === undefined ? {} : { structured: structured as Json }),
  };
}
