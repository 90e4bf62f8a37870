/** Stands in for the functions where pages are looked at without them: the few answers that pages ask for when they open. */
import { createServer, type IncomingMessage } from 'node:http';

export interface Answers {
  /** `host:port`. */
  readonly host: string;
  close(): Promise<void>;
}

const tools = [
  { name: 'search', description: 'Finds tickets by their words.', destructive: false, hash: 'a'.repeat(64), approval: 'approved' },
  { name: 'comment', description: 'Writes a comment below a ticket.', destructive: false, hash: 'b'.repeat(64), approval: 'none' },
  { name: 'close', description: 'Closes a ticket, and tells nobody.', destructive: true, hash: 'c'.repeat(64), approval: 'changed' },
].map((tool) => ({ ...tool, inputSchema: { type: 'object', properties: { id: { type: 'string' } } } }));

const answers: Readonly<Record<string, () => unknown>> = {
  preflight: () => ({ problems: [] }),
  health: () => ({ at: Date.now() - 20_000, repaired: 2, failed: 0, behind: false, auditedAt: Date.now() - 400_000 }),
  'mcp.tools': () => tools,
};

async function opOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const { data } = JSON.parse(Buffer.concat(parts).toString('utf8')) as { data: { op: string } };
  return data.op;
}

export async function startAnswers(): Promise<Answers> {
  const server = createServer((request, response) => {
    const origin = { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' };
    if (request.method === 'OPTIONS') {
      response.writeHead(204, origin).end();
      return;
    }
    void opOf(request).then((op) => {
      const answer = answers[op];
      const body = answer === undefined ? { error: { status: 'INVALID_ARGUMENT', message: `unknown op "${op}"` } } : { result: answer() };
      response.writeHead(answer === undefined ? 400 : 200, { ...origin, 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    host: `127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
