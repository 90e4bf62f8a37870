import { startFunctionsServer } from './functions-server.ts';

/**
 * A process that runs a functions module, so that it can be killed in the middle of anything. Started by the host as
 * `node worker.ts <module URL> <port>`; reports over the channel to its parent and ends with it.
 */
const [moduleUrl = '', port = '0'] = process.argv.slice(2);

process.on('disconnect', () => process.exit(0));

try {
  const exports = (await import(moduleUrl)) as Record<string, unknown>;
  const server = await startFunctionsServer({
    exports,
    port: Number(port),
    listener: {
      usage: (usage) => process.send?.({ type: 'usage', usage }),
      transaction: (transaction) => process.send?.({ type: 'transaction', transaction }),
    },
    onInvocation: (functionName) => process.send?.({ type: 'invocation', functionName }),
  });
  process.send?.({ type: 'ready', port: server.port, manifest: server.manifest });
} catch (error) {
  process.send?.({ type: 'failed', message: error instanceof Error ? (error.stack ?? error.message) : String(error) });
}
