import { z } from 'zod';
import { templatesIn } from '../engine/templates.ts';
import { KilnError } from '../model/errors.ts';
import { mcpServerRecordSchema } from '../model/mcp-server.ts';
import type { McpServerRecord } from '../model/mcp-server.ts';
import { idPattern, paths } from '../model/paths.ts';
import { CallSecrets } from '../runner/call-secrets.ts';
import type { Runtime } from '../runner/runtime.ts';
import type { McpTool } from '../services/mcp/tools.ts';
import type { McpServers, SecretFiller } from '../steps/step-type.ts';
import { changeAudited } from './history.ts';
import type { Actor } from './history.ts';
import type { Store } from './store.ts';

const LIST_TIMEOUT_MS = 20_000;
const SERVERS_MAX = 100;

/** Reads an account's servers. */
export class StoredMcpServers implements McpServers {
  readonly #store: Pick<Store, 'get'>;

  constructor(store: Pick<Store, 'get'>) {
    this.#store = store;
  }

  async get(accountId: string, serverId: string): Promise<McpServerRecord | undefined> {
    if (!idPattern.test(serverId)) return undefined;
    const { docs } = await this.#store.get([paths.mcpServer(accountId, serverId)]);
    return docs[0] === undefined ? undefined : mcpServerRecordSchema.parse(docs[0].data);
  }
}

export const putServerInput = z.strictObject({
  serverId: z.string().regex(idPattern),
  name: z.string().max(200).optional(),
  url: z.string().max(2_000),
  secretHeaders: z.record(z.string().regex(/^[A-Za-z0-9-]{1,100}$/), z.string().max(2_000)).optional(),
  allowTools: z.array(z.string().max(200)).max(500).optional(),
  negotiate: z.boolean().optional(),
});

/** Adds a server or changes it. Another address is another server: nothing of it is approved then. */
export async function putMcpServer(runtime: Runtime, actor: Actor, given: z.infer<typeof putServerInput>): Promise<McpServerRecord> {
  for (const [name, value] of Object.entries(given.secretHeaders ?? {})) {
    const { references, problems } = templatesIn(value);
    if (problems[0] !== undefined) throw new KilnError(problems[0].code, problems[0].message);
    // The record is read by people who start runs: a credential in it would be theirs.
    if (references.length === 0 || references.some(({ reference }) => reference.root !== 'secret'))
      throw new KilnError('request.invalid', `the header ${name} has to refer to a secret, such as "Bearer {{secret.NAME}}"`);
  }
  if (runtime.services.http === undefined) throw new KilnError('request.invalid', 'this deployment makes no outgoing calls');
  runtime.services.http.check(given.url);
  const path = paths.mcpServer(actor.accountId, given.serverId);
  const { serverId, url } = given;
  const text = `${actor.uid} set the tool server "${serverId}" at ${url}`;
  return changeAudited(runtime, actor, { kind: 'tool_server_set', text, data: { serverId, url } }, async (tx) => {
    const { docs } = await tx.get([path]);
    const before = docs[0] === undefined ? undefined : mcpServerRecordSchema.parse(docs[0].data);
    const record: McpServerRecord = {
      v: 1,
      ...given,
      accountId: actor.accountId,
      toolHashes: before?.url === given.url ? before.toolHashes : {},
      updatedAt: runtime.clock.now(),
      updatedBy: actor.uid,
    };
    tx.write({ op: 'set', path, data: record });
    return record;
  });
}

export async function deleteMcpServer(runtime: Runtime, actor: Actor, serverId: string): Promise<void> {
  const text = `${actor.uid} deleted the tool server "${serverId}"`;
  await changeAudited(runtime, actor, { kind: 'tool_server_deleted', text, data: { serverId } }, (tx) =>
    tx.write({ op: 'delete', path: paths.mcpServer(actor.accountId, serverId) }),
  );
}

export async function listMcpServers(runtime: Runtime, accountId: string): Promise<readonly McpServerRecord[]> {
  const { docs } = await runtime.store.query({ from: paths.mcpServers(accountId), where: [], limit: SERVERS_MAX });
  return docs.map((doc) => mcpServerRecordSchema.parse(doc.data));
}

/** A tool as the server describes it now, and what somebody thought of it. */
export interface ListedTool extends McpTool {
  readonly approval: 'approved' | 'changed' | 'none';
}

/** Asks the server for its tools. Nothing that a server says is an instruction: people read it and approve. */
export async function listMcpTools(runtime: Runtime, accountId: string, serverId: string): Promise<readonly ListedTool[]> {
  const record = await requireServer(runtime, accountId, serverId);
  const tools = await toolsOf(runtime, record, new CallSecrets(runtime.services.secrets));
  return tools.map((tool) => ({ ...tool, approval: approvalOf(record, tool) }));
}

export const approveToolsInput = z.strictObject({
  serverId: z.string().regex(idPattern),
  /** The hash of each tool as the person saw it. */
  tools: z.record(z.string().max(200), z.string().length(64)),
});

/** Pins tools as they were seen. The hash comes from the person's page, so what changed in between is not approved unseen. */
export async function approveMcpTools(runtime: Runtime, actor: Actor, given: z.infer<typeof approveToolsInput>): Promise<void> {
  const path = paths.mcpServer(actor.accountId, given.serverId);
  const { serverId, tools } = given;
  const text = `${actor.uid} approved tools of "${serverId}" as they describe themselves: ${Object.keys(tools).join(', ')}`;
  await changeAudited(runtime, actor, { kind: 'tools_approved', text, data: { serverId, tools } }, async (tx) => {
    const { docs } = await tx.get([path]);
    if (docs[0] === undefined) throw new KilnError('mcp.server_missing', `there is no server "${given.serverId}" in this account`);
    const record = mcpServerRecordSchema.parse(docs[0].data);
    const toolHashes = { ...record.toolHashes, ...given.tools };
    tx.write({ op: 'update', path, data: { toolHashes, updatedAt: runtime.clock.now(), updatedBy: actor.uid } });
  });
}

function approvalOf(record: McpServerRecord, tool: McpTool): ListedTool['approval'] {
  const pinned = Object.hasOwn(record.toolHashes, tool.name) ? record.toolHashes[tool.name] : undefined;
  return pinned === undefined ? 'none' : pinned === tool.hash ? 'approved' : 'changed';
}

async function requireServer(runtime: Runtime, accountId: string, serverId: string): Promise<McpServerRecord> {
  const record = await runtime.services.mcpServers?.get(accountId, serverId);
  if (record === undefined) throw new KilnError('mcp.server_missing', `there is no server "${serverId}" in this account`);
  return record;
}

async function toolsOf({ services }: Runtime, record: McpServerRecord, secrets: SecretFiller): Promise<readonly McpTool[]> {
  if (services.mcp === undefined) throw new KilnError('mcp.server_missing', 'this deployment calls no MCP servers');
  const server = { id: record.serverId, url: record.url, headers: secrets.fillIn({ ...record.secretHeaders }) };
  const negotiate = record.negotiate === undefined ? {} : { negotiate: record.negotiate };
  return services.mcp.listTools({
    accountId: record.accountId,
    server: { ...server, ...negotiate },
    session: '$admin',
    timeoutMs: LIST_TIMEOUT_MS,
  });
}
