import { z } from 'zod';
import type { Json } from '../engine/json.ts';
import type { Problem } from '../engine/problem.ts';
import { storePayload } from '../ledger/payloads.ts';
import type { Write } from '../ledger/store.ts';
import { approversSchema } from '../model/approval.ts';
import { KilnError, toErrorRecord } from '../model/errors.ts';
import type { McpServerRecord } from '../model/mcp-server.ts';
import type { StepRef } from '../model/paths.ts';
import type { McpServer, ToolResult } from '../services/mcp/tools.ts';
import { taintWrites } from './guarded.ts';
import type { EffectStepType, Performed, PerformContext, PreflightContext, SecretFiller } from './step-type.ts';

const schema = z.strictObject({
  type: z.literal('browserAction'),
  /** The id of one of the account's servers. */
  server: z.string().min(1).max(128),
  tool: z.string().min(1).max(200),
  arguments: z.record(z.string(), z.json()).optional(),
  /** The call changes nothing: it may be repeated, and needs no approval in a tainted run. */
  readOnly: z.boolean().optional(),
  /** What a failure that the tool itself reports means. `fail` is the default. */
  onToolError: z.enum(['fail', 'continue']).optional(),
  /** Who allows the call when the run is tainted. Default: approvers and admins. */
  approvers: approversSchema.optional(),
});
type Config = z.infer<typeof schema>;

const PREFLIGHT_TIMEOUT_MS = 15_000;
/** All images of one result, as base64; a commit takes 10 MiB. */
const IMAGES_MAX_CHARS = 6 * 1024 * 1024;

export const browserAction: EffectStepType<Config> = {
  type: 'browserAction',
  title: 'Browser action',
  description: 'Calls a tool of an MCP server, such as a browser. Tools are approved one by one, as they are described.',
  kind: 'effect',
  schema,
  idempotent: false,
  isIdempotent: (config) => 'readOnly' in config && config.readOnly === true,
  literalFields: ['approvers'],
  secretFields: ['arguments'],
  guard: (config) => (config.readOnly === true ? undefined : { what: `${config.tool} on ${config.server}`, approvers: config.approvers }),
  outputSchema: () => ({
    type: 'object',
    properties: {
      isError: { type: 'boolean' },
      text: { type: 'string' },
      structured: true,
      images: { type: 'array', items: { type: 'object' } },
      other: { type: 'array' },
    },
    additionalProperties: false,
  }),
  preflight,
  async perform(context) {
    const { config, services, ref } = context;
    const record = await services.mcpServers?.get(ref.accountId, config.server);
    if (record === undefined || services.mcp === undefined)
      throw new KilnError('mcp.server_missing', `there is no server "${config.server}" in this account`);
    const pinnedHash = pinned(record, config.tool);
    const result = await services.mcp.callTool({
      accountId: ref.accountId,
      server: serverOf(record, context.secrets),
      // A run has a session of its own: cookies and pages do not pass from one run to another.
      session: ref.runId,
      tool: config.tool,
      args: config.arguments ?? {},
      pinnedHash,
      timeoutMs: context.timeoutMs,
      signal: context.signal,
      ...(config.idempotent === undefined && config.readOnly !== true ? {} : { idempotent: config.idempotent ?? true }),
    });
    return performed(context, result, pinnedHash);
  },
};

async function performed(context: PerformContext<Config>, result: ToolResult, hash: string): Promise<Performed> {
  const { config, ref } = context;
  if (result.isError && config.onToolError !== 'continue')
    throw new KilnError('mcp.tool_failed', `${config.tool} reports: ${result.text.slice(0, 1_000)}`);
  const { images, writes } = storeImages(ref, result, config.sensitive === true);
  const { isError, text, structured, other } = result;
  return {
    output: { isError, text, images, other, ...(structured === undefined ? {} : { structured }) },
    details: { server: config.server, tool: config.tool, toolHash: hash },
    // What a page says was written by outsiders.
    writes: [...writes, ...(await taintWrites(context))],
  };
}

/** Images lie beside the output, so that steps which only read the text do not load them. */
function storeImages(
  ref: StepRef,
  { images }: ToolResult,
  sensitive: boolean,
): { readonly images: Json[]; readonly writes: readonly Write[] } {
  let room = IMAGES_MAX_CHARS;
  const stored = images.map(({ mimeType, data }, n): { readonly image: Json; readonly writes: readonly Write[] } => {
    room -= data.length;
    if (room < 0) return { image: { mimeType, omitted: `images of one result may take ${IMAGES_MAX_CHARS} characters` }, writes: [] };
    const { payload, writes } = storePayload(ref, `${ref.key}~image${n}`, JSON.stringify(data), sensitive ? { sensitive } : {});
    return { image: { mimeType, payload: { ...payload } as Json }, writes };
  });
  return { images: stored.map(({ image }) => image), writes: stored.flatMap(({ writes }) => writes) };
}

function pinned(record: McpServerRecord, tool: string): string {
  if (record.allowTools?.includes(tool) === false)
    throw new KilnError('mcp.tool_not_allowed', `the tool ${tool} is not on the allow-list of the server ${record.serverId}`);
  const hash = Object.hasOwn(record.toolHashes, tool) ? record.toolHashes[tool] : undefined;
  if (hash === undefined)
    throw new KilnError('mcp.tool_not_allowed', `nobody has approved the tool ${tool} of the server ${record.serverId}`);
  return hash;
}

function serverOf(record: McpServerRecord, secrets: SecretFiller): McpServer {
  return {
    id: record.serverId,
    url: record.url,
    headers: secrets.fillIn({ ...record.secretHeaders }),
    ...(record.allowTools === undefined ? {} : { allowedTools: record.allowTools }),
    ...(record.negotiate === undefined ? {} : { negotiate: record.negotiate }),
  };
}

/** The server answers, and the tool is there and described as it was approved. */
async function preflight(config: Config, { accountId, place, services, secrets }: PreflightContext): Promise<readonly Problem[]> {
  if (config.server.includes('{{') || config.tool.includes('{{')) return [];
  try {
    const record = await services.mcpServers?.get(accountId, config.server);
    if (record === undefined || services.mcp === undefined)
      throw new KilnError('mcp.server_missing', `there is no server "${config.server}" in this account`);
    const hash = pinned(record, config.tool);
    const scope = { accountId, server: serverOf(record, secrets), session: '$preflight', timeoutMs: PREFLIGHT_TIMEOUT_MS };
    const tools = await services.mcp.listTools(scope);
    const tool = tools.find(({ name }) => name === config.tool);
    if (tool === undefined) {
      const names = tools.slice(0, 30).map(({ name }) => name);
      throw new KilnError(
        'mcp.tool_missing',
        `the server ${config.server} has no tool ${config.tool}; it offers: ${names.join(', ') || 'none'}`,
      );
    }
    if (tool.hash !== hash)
      throw new KilnError('mcp.tool_changed', `the tool ${config.tool} is not described as it was when it was approved; look at it again`);
    return [];
  } catch (error) {
    if (!(error instanceof KilnError)) throw error;
    return [{ path: place.path, code: error.code, message: toErrorRecord(error).message }];
  }
}
