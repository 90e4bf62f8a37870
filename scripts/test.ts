/** `npm test [stage …]`: every stage, quick ones first; one that fails hides none of the later ones. */
import { spawn } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CACHE, ROOT } from './root.ts';
import { countTests, failures, sum, summaryLine, type Counts } from './stages/counts.ts';
import { selectStages, type Stage } from './stages/stages.ts';

interface Outcome {
  stage: Stage;
  exitCode: number;
  seconds: number;
  counts: Counts | undefined;
}

const REPORTS = join(CACHE, 'reports');

let interruptedBy: NodeJS.Signals | undefined;

/** In the terminal's own process group, so that Ctrl-C reaches the tool itself and it can tidy up. */
function run(stage: Stage): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(stage.command, stage.args, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] });
    const pass = (signal: NodeJS.Signals): void => {
      interruptedBy = signal;
      child.kill(signal);
    };
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, pass);
    const done = (code: number): void => {
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.off(signal, pass);
      resolve(code);
    };
    child.once('error', (error) => {
      process.stdout.write(`${stage.command} could not be started: ${error.message}\n`);
      done(1);
    });
    child.once('exit', (code) => done(code ?? 1));
  });
}

async function perform(stage: Stage): Promise<Outcome> {
  if (stage.report !== undefined) rmSync(stage.report, { force: true });
  process.stdout.write(`\n── ${stage.title} ──\n`);
  const startedAt = performance.now();
  const exitCode = await run(stage);
  const seconds = (performance.now() - startedAt) / 1000;
  const counts = stage.report === undefined ? undefined : countTests(stage.report, exitCode);
  process.stdout.write(`${resultOf({ stage, exitCode, seconds, counts })}\n`);
  return { stage, exitCode, seconds, counts };
}

function resultOf({ stage, exitCode, seconds, counts }: Outcome): string {
  const result = exitCode === 0 ? 'ok' : 'FAILED';
  const numbers = counts === undefined ? '' : `, ${summaryLine(counts)}`;
  return `${stage.title}: ${result} in ${seconds.toFixed(1)} s${numbers}`;
}

async function main(): Promise<void> {
  const stages = selectStages(process.argv.slice(2));
  mkdirSync(REPORTS, { recursive: true });
  const outcomes: Outcome[] = [];
  for (const stage of stages) {
    outcomes.push(await perform(stage));
    if (interruptedBy !== undefined) break;
  }
  const red = outcomes.filter((outcome) => outcome.exitCode !== 0);
  process.stdout.write('\n── Summary ──\n');
  for (const outcome of outcomes) process.stdout.write(`${resultOf(outcome)}\n`);
  if (red.length > 0) process.stdout.write(`Failed: ${red.map((outcome) => outcome.stage.title).join(', ')}\n`);
  const counted = outcomes.flatMap((outcome) => outcome.counts ?? []);
  const line = summaryLine(sum(counted));
  const named = red.flatMap(({ stage }) => (stage.report === undefined ? [] : failures(stage.report)));
  for (const failure of named) process.stdout.write(`  ${failure}\n`);
  writeFileSync(join(REPORTS, 'summary.txt'), [...named, line, ''].join('\n'));
  if (counted.length > 0) process.stdout.write(`${line}\n`);
  process.exitCode = red.length > 0 || interruptedBy !== undefined ? 1 : 0;
}

await main();
