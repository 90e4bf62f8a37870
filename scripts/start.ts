/** `npm start`: builds, starts the emulators and the local services, seeds, and says where to go. */
import { startLocal, type Local } from './local.ts';
import { stopChildrenOnSignal } from './process/child.ts';
import { say, step } from './progress.ts';
import { SUITE_PORTS } from './emulator/suite.ts';
import { seedDemo } from './seed.ts';

function welcome(local: Local, seconds: number): void {
  const web = `http://127.0.0.1:${SUITE_PORTS.hosting}`;
  say('');
  say(`Kiln is ready after ${seconds.toFixed(1)} s. Ctrl-C ends everything.`);
  say('');
  say(`  Web app     ${web}`);
  say(`  Mails       ${local.realMail ? 'sent by SendGrid with your key' : local.services.mail.url}`);
  say(`  Model       ${local.realModel ? 'your own, as set in the environment' : `local dev model, ${local.services.model.url}`}`);
  say(`  Webhooks    ${web}/hooks/…`);
  say('  Logs        .cache/logs/emulators.log');
  say('');
  say('To try: sign in as Otto (operator), start "invoice-approval", then sign in as Ada (approver) and decide it.');
  say('In another terminal: npm run kiln -- list, and with the id of a run: npm run kiln -- watch <run>');
  say('');
}

async function main(): Promise<void> {
  const startedAt = performance.now();
  stopChildrenOnSignal(() => say('\nStopping …'));
  const local = await startLocal();
  await step('Seeding the demo account', seedDemo);
  welcome(local, (performance.now() - startedAt) / 1000);
  const exit = await local.suite.child.exited;
  // Then the signal's handler ends us, with the exit status that the signal asks for.
  if (local.suite.child.isStopping()) return;
  throw new Error(`The emulators ended by themselves (code ${exit.code ?? exit.signal}). Last lines:\n${local.suite.child.tail()}`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
