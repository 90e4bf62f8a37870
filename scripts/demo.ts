/** `npm run demo`: one workflow from a real webhook to its end, without a person. Exit status 0 only if the run completed. */
import { createHmac } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import pc from 'picocolors';
import { clientEnvironment } from './emulator/environment.ts';
import { SUITE_PORTS } from './emulator/suite.ts';
import { connect } from './kiln/connect.ts';
import { DEMO_ACCOUNT, DEMO_HOOK, DEMO_PASSWORD } from './kiln/people.ts';
import { decide, openApproval, watchRun } from './kiln/runs.ts';
import { endLines, runLine, stepLine } from './kiln/show.ts';
import { startLocal } from './local.ts';
import { stopChildrenOnSignal } from './process/child.ts';
import { step } from './progress.ts';
import { CACHE, PROJECT_ID } from './root.ts';
import { seedDemo } from './seed.ts';

/** The whole demo takes seconds; this bounds a stuck one. */
const GIVE_UP_MS = 120_000;

async function main(): Promise<number> {
  stopChildrenOnSignal(() => say('\nStopping …'));
  const local = await startLocal();
  await step('Seeding the demo account', seedDemo);
  try {
    return await demo();
  } finally {
    await local.close();
  }
}

async function demo(): Promise<number> {
  Object.assign(process.env, clientEnvironment());
  const person = (email: string) =>
    connect({ project: PROJECT_ID, region: 'us-central1', email, password: DEMO_PASSWORD, apiKey: 'local' });
  const [operator, approver] = await Promise.all([person('operator@demo.kiln'), person('approver@demo.kiln')]);
  const before = countedUsage();
  const runId = await sendWebhook();
  say(`\nA recorded GitHub webhook (issues.opened) was sent, signed; answer 202, run ${pc.bold(runId)}\n`);

  const ended = watchRun(operator, DEMO_ACCOUNT, runId, { run: () => undefined, step: (one) => say(`  ${stepLine(one)}`) });
  const approval = openApproval(approver, DEMO_ACCOUNT, runId).then(async (request) => {
    say(`\n  ${pc.yellow('A person is asked:')} ${String(request['title'])}`);
    const verdict = await decide(approver, DEMO_ACCOUNT, request, 'approve', 'Looks right to me.');
    say(`  approver@demo.kiln approves, under the security rules: ${verdict.accepted ? pc.green('accepted') : pc.red(verdict.reason)}\n`);
  });
  const run = await Promise.race([ended, giveUp(), approval.then(() => ended)]);
  say(`\n${runLine(run)}\n${endLines(run)}\n`);
  report(before, countedUsage());
  return run['status'] === 'completed' ? 0 : 1;
}

async function sendWebhook(): Promise<string> {
  const body = JSON.stringify(issueOpened());
  const signature = createHmac('sha256', DEMO_HOOK.secret).update(body).digest('hex');
  const url = `http://127.0.0.1:${SUITE_PORTS.functions}/${PROJECT_ID}/us-central1/http/hooks/${DEMO_ACCOUNT}/${DEMO_HOOK.id}`;
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'X-GitHub-Event': 'issues',
      'X-GitHub-Delivery': crypto.randomUUID(),
      'X-Hub-Signature-256': `sha256=${signature}`,
    },
    body,
  });
  const answer = (await response.json()) as { runId?: string; error?: { message: string } };
  if (response.status !== 202 || answer.runId === undefined)
    throw new Error(`the webhook was answered ${response.status}: ${answer.error?.message ?? ''}`);
  return answer.runId;
}

interface WebhookExample {
  readonly name: string;
  readonly examples: readonly { readonly action?: string }[];
}

function issueOpened(): object {
  const definitions = createRequire(import.meta.url)('@octokit/webhooks-examples') as readonly WebhookExample[];
  const found = definitions.find(({ name }) => name === 'issues')?.examples.find(({ action }) => action === 'opened');
  if (found === undefined) throw new Error('the recorded webhook issues.opened is missing');
  return found;
}

type Counted = Record<'invocations' | 'reads' | 'writes' | 'deletes', number>;

/** Each functions process logs what it has counted so far; the newest line of each counts. */
function countedUsage(): Counted {
  const file = join(CACHE, 'logs', 'emulators.log');
  const total: Counted = { invocations: 0, reads: 0, writes: 0, deletes: 0 };
  if (!existsSync(file)) return total;
  const newest = new Map<number, Counted & { pid: number }>();
  for (const match of readFileSync(file, 'utf8').matchAll(/kiln usage (\{[^}]*\})/g)) {
    const line = JSON.parse((match[1] ?? '{}').replaceAll('\\"', '"')) as Counted & { pid: number };
    newest.set(line.pid, line);
  }
  for (const counted of newest.values()) for (const name of Object.keys(total) as (keyof Counted)[]) total[name] += counted[name];
  return total;
}

function report(before: Counted, after: Counted): void {
  const used = (name: keyof Counted): string => String(after[name] - before[name]).padStart(5);
  say(pc.bold('Counted in the functions while the run ran'));
  say(`  invocations      ${used('invocations')}`);
  say(`  document writes  ${used('writes')}`);
  say(`  document reads   ${used('reads')}`);
}

function giveUp(): Promise<never> {
  return new Promise((_resolve, reject) =>
    setTimeout(() => reject(new Error(`the run did not end within ${GIVE_UP_MS / 1_000} s`)), GIVE_UP_MS).unref(),
  );
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  },
);
