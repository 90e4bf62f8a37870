/** `npm run kiln -- <command>`: Kiln from the terminal. Runs and approvals as a signed-in person, under the security rules. */
import { Command } from 'commander';
import pc from 'picocolors';
import { addAuditCommands } from './kiln/audit.ts';
import { addDoctor } from './kiln/doctor.ts';
import { addFound } from './kiln/found.ts';
import { addInit } from './kiln/init.ts';
import { addNewStep } from './kiln/new-step.ts';
import { DEMO_ACCOUNT } from './kiln/people.ts';
import { addRunCommands, addSteeringCommands } from './kiln/run-commands.ts';
import { addDefinitionCommands } from './kiln/definition-commands.ts';
import { PROJECT_ID } from './root.ts';

const program = new Command('kiln')
  .description('Start, see, approve and steer workflow runs; set a project up and look after it.')
  .option(
    '--project <id>',
    'Firebase project; one that starts with demo- is the local emulators',
    process.env['KILN_PROJECT'] ?? PROJECT_ID,
  )
  .option('--region <name>', 'region of the functions', process.env['KILN_REGION'] ?? 'us-central1')
  .option('--account <id>', 'account', process.env['KILN_ACCOUNT'] ?? DEMO_ACCOUNT)
  .option('--as <email>', 'who you are; the password is read from KILN_PASSWORD', process.env['KILN_EMAIL'])
  .option('--api-key <key>', 'web API key of the project', process.env['KILN_API_KEY'] ?? 'local')
  .showHelpAfterError();

addRunCommands(program);
addSteeringCommands(program);
addDefinitionCommands(program);
addAuditCommands(program);
addDoctor(program);
addFound(program);
addInit(program);
addNewStep(program);

try {
  await program.parseAsync();
  process.exit(process.exitCode ?? 0);
} catch (error) {
  process.stderr.write(`${pc.red(error instanceof Error ? error.message : String(error))}\n`);
  process.exit(1);
}
