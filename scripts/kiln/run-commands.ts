import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { doc, getDoc } from 'firebase/firestore';
import pc from 'picocolors';
import type { Session } from './connect.ts';
import { openSession, say } from './globals.ts';
import { command, decide, listRuns, readRun, readSteps, watchRun } from './runs.ts';
import { endLines, runLine, stepLines } from './show.ts';

const OPERATOR = 'operator@demo.kiln';
const APPROVER = 'approver@demo.kiln';

/** Start, list, show and watch. */
export function addRunCommands(program: Command): void {
  program
    .command('start <workflow>')
    .description('start a run')
    .option('--input <json>', 'input as JSON, or @file', 'null')
    .option('--key <key>', 'start key: the same key starts one run')
    .option('--watch', 'stay and watch')
    .action(async (workflow: string, options: { input: string; key?: string; watch?: boolean }) => {
      const me = await openSession(program, OPERATOR);
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
      const me = await openSession(program, OPERATOR);
      const runs = await listRuns(me.session, me.account, Math.min(100, Number(options.limit)));
      say(runs.length === 0 ? 'No runs yet. Start one: npm run kiln -- start <workflow>' : runs.map(runLine).join('\n'));
    });

  program
    .command('show <run>')
    .description('show a run and its steps')
    .action(async (runId: string) => {
      const me = await openSession(program, OPERATOR);
      const run = await readRun(me.session, me.account, runId);
      if (run === undefined) throw new Error(`There is no run "${runId}" in account "${me.account}".`);
      const steps = await readSteps(me.session, me.account, runId);
      say([runLine(run), ...steps.map(stepLines), endLines(run)].join('\n'));
    });

  program
    .command('watch <run>')
    .description('watch a run until it ends')
    .action(async (runId: string) => {
      const me = await openSession(program, OPERATOR);
      await watch(me.session, me.account, runId);
    });
}

/** What people say of requests and runs. */
export function addSteeringCommands(program: Command): void {
  for (const outcome of ['approve', 'reject'] as const) {
    program
      .command(`${outcome} <approval>`)
      .description(`${outcome} a request`)
      .option('--comment <text>', 'comment')
      .action(async (approvalId: string, options: { comment?: string }) => {
        const me = await openSession(program, APPROVER);
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
        const me = await openSession(program, OPERATOR);
        say(await command(me.session, me.account, runId, kind, options.reason));
      });
  }
}

async function watch(me: Session, account: string, runId: string): Promise<void> {
  let status = '';
  const run = await watchRun(me, account, runId, {
    run: (now) => {
      if (now['status'] !== status) say(runLine(now));
      status = String(now['status']);
    },
    step: (step) => say(`  ${stepLines(step)}`),
  });
  say(endLines(run));
  if (run['status'] !== 'completed') process.exitCode = 1;
}
