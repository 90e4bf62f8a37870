import { z } from 'zod';

/** An MCP server of an account: `accounts/{a}/mcpServers/{serverId}`. */
export const mcpServerRecordSchema = z.strictObject({
  v: z.literal(1),
  accountId: z.string(),
  serverId: z.string(),
  name: z.string().optional(),
  url: z.string(),
  /** Headers for each request; `{{secret.NAME}}` stands for a secret. */
  secretHeaders: z.record(z.string(), z.string()).optional(),
  /** The only tools that may be called; absent: every one that is approved below. */
  allowTools: z.array(z.string()).optional(),
  /** The description of each tool as somebody approved it. A tool that is not in here, or is described otherwise, is not called. */
  toolHashes: z.record(z.string(), z.string()),
  /** Asks first which protocol revision the server speaks. */
  negotiate: z.boolean().optional(),
  updatedAt: z.number(),
  updatedBy: z.string(),
});
export type McpServerRecord = z.infer<typeof mcpServerRecordSchema>;
