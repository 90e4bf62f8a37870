import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import type { Command } from 'commander';
import { asString, asObject, parseJson } from '../json-objects.ts';
import { ROOT } from '../root.ts';
import { checkQueue, checkRoles } from './doctor-access.ts';
import { googleApis } from './doctor-apis.ts';
import type { GoogleApis } from './doctor-apis.ts';
import { checkDatabase, checkIndexes, checkRules, checkTtl } from './doctor-database.ts';
import { checkMachine, checkSettings } from './doctor-machine.ts';
import type { Machine } from './doctor-machine.ts';
import { checkApis, checkBilling, checkBudget, checkFunctions, checkProject, checkSecrets } from './doctor-project.ts';
import type { Patient } from './doctor-project.ts';
import { reportLines, unknown } from './doctor-report.ts';
import type { Finding } from './doctor-report.ts';
import { globalsOf } from './globals.ts';

/** Every function that the code deploys; a test compares it with the exports. */
export const FUNCTIONS = [
  'api',
  'commandCreated',
  'decisionCreated',
  'doorbell',
  'eventCreated',
  'http',
  'outboxCreated',
  'reconcile',
  'requestCreated',
  'runCreated',
  'runEnded',
  'stepCreated',
] as const;

/** Looks at everything in the project that a deployment rests on. Reads only. */
export async function examine(apis: GoogleApis, patient: Patient): Promise<Finding[]> {
  const { finding, number } = await checkProject(apis, patient);
  if (number === undefined) return [finding];
  const functions = await checkFunctions(apis, patient);
  const runtime = functions.account ?? `${number}-compute@developer.gserviceaccount.com`;
  const accounts = { runtime, task: patient.taskAccount ?? `${patient.project}@appspot.gserviceaccount.com` };
  const rest = await Promise.all([
    checkBilling(apis, patient),
    checkApis(apis, patient),
    checkDatabase(apis, patient),
    checkRules(apis, patient),
    checkIndexes(apis, patient),
    checkTtl(apis, patient),
    checkSecrets(apis, patient),
    checkQueue(apis, patient),
    checkRoles(apis, patient, accounts),
    checkBudget(apis, patient),
  ]);
  return [finding, functions.finding, ...rest.flat()];
}

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('say what is missing on this machine and, with --project, in the Firebase project')
    .action(async () => {
      const { project } = globalsOf(program);
      const findings = checkMachine(await lookAtMachine());
      if (!project.startsWith('demo-')) findings.push(...(await lookAtProject(project)));
      process.stdout.write(`${reportLines(findings)}\n`);
      if (findings.some(({ state }) => state === 'gap' || state === 'unknown')) process.exitCode = 1;
    });
}

async function lookAtProject(project: string): Promise<Finding[]> {
  const envFile = join(ROOT, 'functions', `.env.${project}`);
  const env = existsSync(envFile) ? parseEnv(readFileSync(envFile, 'utf8')) : undefined;
  const settings = checkSettings({ project, env, firebaseJson: readJson('firebase.json') });
  const token = (await output('gcloud', ['auth', 'print-access-token']))?.trim();
  if (token === undefined) return [...settings, unknown('sign-in', 'gcloud gives no token', 'gcloud auth login')];
  const patient: Patient = {
    project,
    region: env?.['KILN_REGION'] ?? 'us-central1',
    secrets: (env?.['KILN_SECRETS'] ?? '')
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
    taskAccount: env?.['KILN_SERVICE_ACCOUNT'],
    functions: FUNCTIONS,
    rules: readFileSync(join(ROOT, 'firestore.rules'), 'utf8'),
    indexes: readJson('firestore.indexes.json'),
  };
  return [...settings, ...(await examine(googleApis(token, project), patient))];
}

async function lookAtMachine(): Promise<Machine> {
  const java = await output('java', ['-version']);
  const cli = join(ROOT, 'node_modules', 'firebase-tools', 'package.json');
  return {
    node: process.version,
    java: java === undefined ? undefined : Number(/version "(\d+)/.exec(java)?.[1]),
    firebaseCli: existsSync(cli) ? asString(asObject(parseJson(readFileSync(cli, 'utf8')))?.['version']) : undefined,
    gcloud: (await output('gcloud', ['--version'])) !== undefined,
  };
}

function readJson(file: string): unknown {
  return parseJson(readFileSync(join(ROOT, file), 'utf8'));
}

/** What a program prints, or undefined where it is missing or fails. */
function output(program: string, args: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: 30_000 }, (error, stdout, stderr) => resolve(error === null ? `${stdout}${stderr}` : undefined));
  });
}
