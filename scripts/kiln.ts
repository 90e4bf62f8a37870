/** `npm run kiln -- <command>`: runs and approvals from the terminal, as a signed-in person under the security rules. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { doc, getDoc } from 'firebase/firestore';
import pc from 'picocolors';
import { connect } from './kiln/connect.ts';
import type { Session } from './kiln/connect.ts';
import { DEMO_ACCOUNT, DEMO_PASSWORD } from './kiln/people.ts';
import { command, decide, listRuns, readRun, readSteps, watchRun } from './kiln/runs.ts';
import { endLines, runLine, stepLine } from './kiln/show.ts';
import { PROJECT_ID } from './root.ts';

const program = new Command('kiln')
  .description('Start, see, approve and steer workflow runs.')
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

interface Globals {
  readonly project: string;
  readonly region: string;
  readonly account: string;
  readonly as?: string;
  readonly apiKey: string;
}

async function session(fallback: string): Promise<{ session: Session; account: string }> {
  const { project, region, account, as, apiKey } = program.opts<Globals>();
  const demo = project.startsWith('demo-');
  const email = as ?? (demo ? fallback : undefined);
  if (email === undefined) throw new Error('Say who you are: --as you@example.com, with your password in KILN_PASSWORD.');
  const password = process.env['KILN_PASSWORD'] ?? (demo ? DEMO_PASSWORD : undefined);
  if (password === undefined) throw new Error('Put your password into KILN_PASSWORD.');
  return { session: await connect({ project, region, email, password, apiKey }), account };
}

program
  .command('start <workflow>')
  .description('start a run')
  .option('--input <json>', 'input as JSON, or @file', 'null')
  .option('--key <key>', 'start key: the same key starts one run')
  .option('--watch', 'stay and watch')
  .action(async (workflow: string, options: { input: string; key?: string; watch?: boolean }) => {
    const me = await session('operator@demo.kiln');
    const text = options.input.startsWith('@') ? readFileSync(options.input.slice(1), 'utf8') : options.input;
    const started = (await me.session.call('start', {
      accountId: me.account,
      workflowId: workflow,
      input: JSON.parse(text) as unknown,
      ...(options.key === undefined ? {} : { startKey: options.key }),
    })) as { runId: string; reused: boolean };
    say(`${started.reused ? 'already started' : 'started'}: ${pc.bold(started.runId)}`);
    if (options.watch === true) await watch(me.session, me.account, started.runId);
  });

program
  .command('list')
  .description('list the newest runs')
  .option('--limit <n>', 'how many', '20')
  .action(async (options: { limit: string }) => {
    const me = await session('operator@demo.kiln');
    const runs = await listRuns(me.session, me.account, Math.min(100, Number(options.limit)));
    say(runs.length === 0 ? 'No runs yet. Start one: npm run kiln -- start <workflow>' : runs.map(runLine).join('\n'));
  });

program
  .command('show <run>')
  .description('show a run and its steps')
  .action(async (runId: string) => {
    const me = await session('operator@demo.kiln');
    const run = await readRun(me.session, me.account, runId);
    if (run === undefined) throw new Error(`There is no run "${runId}" in account "${me.account}".`);
    const steps = await readSteps(me.session, me.account, runId);
    say([runLine(run), ...steps.map(stepLine), endLines(run)].join('\n'));
  });

program
  .command('watch <run>')
  .description('watch a run until it ends')
  .action(async (runId: string) => {
    const me = await session('operator@demo.kiln');
    await watch(me.session, me.account, runId);
  });

for (const outcome of ['approve', 'reject'] as const) {
  program
    .command(`${outcome} <approval>`)
    .description(`${outcome} a request`)
    .option('--comment <text>', 'comment')
    .action(async (approvalId: string, options: { comment?: string }) => {
      const me = await session('approver@demo.kiln');
      const found = (await getDoc(doc(me.session.db, `accounts/${me.account}/approvals/${approvalId}`))).data();
      if (found === undefined) throw new Error(`There is no approval "${approvalId}" in account "${me.account}".`);
      const verdict = await decide(me.session, me.account, found, outcome, options.comment);
      say(verdict.accepted ? pc.green('accepted') : pc.red(`refused: ${verdict.reason}`));
      if (!verdict.accepted) process.exitCode = 1;
    });
}

for (const kind of ['pause', 'resume', 'cancel', 'compensate'] as const) {
  program
    .command(`${kind} <run>`)
    .description(`${kind} a run`)
    .requiredOption('--reason <text>', 'why; it is kept with the run')
    .action(async (runId: string, options: { reason: string }) => {
      const me = await session('operator@demo.kiln');
      say(await command(me.session, me.account, runId, kind, options.reason));
    });
}

async function watch(me: Session, account: string, runId: string): Promise<void> {
  let status = '';
  const run = await watchRun(me, account, runId, {
    run: (now) => {
      if (now['status'] !== status) say(runLine(now));
      status = String(now['status']);
    },
    step: (step) => say(`  ${stepLine(step)}`),
  });
  say(endLines(run));
  if (run['status'] !== 'completed') process.exitCode = 1;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

try {
  await program.parseAsync();
  process.exit(process.exitCode ?? 0);
} catch (error) {
  process.stderr.write(`${pc.red(error instanceof Error ? error.message : String(error))}\n`);
  process.exit(1);
}
