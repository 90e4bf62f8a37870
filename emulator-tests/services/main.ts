import { pinnedPorts, startServices } from './index.ts';

/**
 * Starts the local services on their pinned ports: `node emulator-tests/services/main.ts [journal file]`.
 * Ends with SIGINT or SIGTERM. With a journal file, tasks survive a restart. KILN_TASKS_PORT, KILN_MODEL_PORT and
 * KILN_MAIL_PORT choose other ports, 0 a free one.
 */
function portFrom(name: string, pinned: number): number {
  const value = Number(process.env[name] ?? pinned);
  return Number.isInteger(value) && value >= 0 && value < 65_536 ? value : pinned;
}

const ports = {
  tasks: portFrom('KILN_TASKS_PORT', pinnedPorts.tasks),
  model: portFrom('KILN_MODEL_PORT', pinnedPorts.model),
  mail: portFrom('KILN_MAIL_PORT', pinnedPorts.mail),
};
const journalPath = process.argv[2];

try {
  const services = await startServices({ ports, ...(journalPath === undefined ? {} : { tasks: { journalPath } }) });
  process.stdout.write(
    `Cloud Tasks double  ${services.tasks.url}\nDev model           ${services.model.url}\nMail sink           ${services.mail.url}\nready\n`,
  );
  const stop = (): void => {
    void services.close().then(() => process.exit(0));
  };
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
} catch (error) {
  const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
  process.stderr.write(
    taken
      ? `A port is in use: ${String(error)}. Stop the process that holds it and start again.\n`
      : `The local services did not start: ${String(error)}\n`,
  );
  process.exit(1);
}
