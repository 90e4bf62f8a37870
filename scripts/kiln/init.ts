import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { parseEnv } from 'node:util';
import type { Command } from 'commander';
import pc from 'picocolors';
import { ROOT } from '../root.ts';
import { globalsOf, say } from './globals.ts';

export interface Answers {
  readonly project: string;
  readonly region: string;
  /** The verified sender of mails. */
  readonly mailFrom: string;
  /** The model of recipes that name none. */
  readonly model: string;
  /** Whose token doorbells carry; it must exist in the project. */
  readonly serviceAccount: string;
}

/** The secrets that a deployment binds. Values are set with the Firebase CLI, never written to a file. */
const SECRETS = ['OPENAI_API_KEY', 'SENDGRID_API_KEY', 'KILN_METRICS_TOKEN'] as const;

/** The text of `functions/.env.<project>`: what is in the file already and is not asked for stays. */
export function envText(answers: Answers, before: string): string {
  const kept = parseEnv(before);
  const settings: Record<string, string | undefined> = {
    KILN_EMBEDDING_MODEL: 'text-embedding-3-small',
    KILN_SECRETS: SECRETS.join(','),
    KILN_WEB_URL: `https://${answers.project}.web.app`,
    ...kept,
    KILN_REGION: answers.region,
    KILN_MAIL_FROM: answers.mailFrom,
    KILN_DEFAULT_MODEL: answers.model,
    KILN_SERVICE_ACCOUNT: answers.serviceAccount,
  };
  const lines = Object.entries(settings)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value ?? ''}`);
  return ['# Deployed with the functions, so no secrets here. Written by `npm run kiln -- init`.', ...lines, ''].join('\n');
}

/** `.firebaserc` with an alias, so that `firebase use production` works. The default stays the local project. */
export function aliasText(before: string, project: string): string {
  const file = JSON.parse(before) as { readonly projects?: Readonly<Record<string, string>> };
  return `${JSON.stringify({ ...file, projects: { ...file.projects, production: project } }, undefined, 2)}\n`;
}

/** firebase.json with its rewrites to functions in the region: Hosting does not follow KILN_REGION. */
export function rewritesText(before: string, region: string): string {
  return before.replaceAll(/("functionId":\s*"[^"]+",\s*"region":\s*")[^"]*(")/g, `$1${region}$2`);
}

/** What is wrong with an answer, or undefined. */
export function problemOf(name: keyof Answers, value: string): string | undefined {
  switch (name) {
    case 'project':
      if (value.startsWith('demo-')) return 'projects that start with demo- are local and never deployed';
      return /^[a-z][a-z0-9-]{4,28}[a-z0-9]$/.test(value) ? undefined : 'a project id has 6 to 30 small letters, digits and "-"';
    case 'region':
      return /^[a-z]+-[a-z]+\d+$/.test(value) ? undefined : 'a region looks like us-central1 or europe-west1';
    case 'mailFrom':
      return /^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(value) ? undefined : 'write a mail address';
    case 'model':
      return /\s/.test(value) || value === '' ? 'write the name of a model, such as gpt-5-mini' : undefined;
    case 'serviceAccount':
      return /^[^@\s]+@[^@\s]+\.gserviceaccount\.com$/.test(value) ? undefined : 'a service account ends in gserviceaccount.com';
  }
}

const questions: readonly { readonly name: keyof Answers; readonly ask: string; readonly proposal: (known: Partial<Answers>) => string }[] =
  [
    { name: 'project', ask: 'Firebase project id', proposal: () => '' },
    { name: 'region', ask: 'Region of your Firestore database (nam5: us-central1, eur3: europe-west1)', proposal: () => 'us-central1' },
    { name: 'mailFrom', ask: 'Sender of mails, verified at SendGrid', proposal: () => '' },
    { name: 'model', ask: 'Model of recipes that name none', proposal: () => 'gpt-5-mini' },
    {
      name: 'serviceAccount',
      ask: 'Service account of the functions (gcloud iam service-accounts list)',
      proposal: ({ project }) => `${project ?? ''}@appspot.gserviceaccount.com`,
    },
  ];

export function addInit(program: Command): void {
  program
    .command('init')
    .description('ask how the project is to be set up, write it down, and say which secrets to set')
    .option('--mail-from <address>', 'sender of mails')
    .option('--model <name>', 'model of recipes that name none')
    .option('--service-account <email>', 'whose token doorbells carry')
    .action(async (options: { mailFrom?: string; model?: string; serviceAccount?: string }) => {
      const { project, region } = globalsOf(program);
      const given: Partial<Answers> = {
        ...(project.startsWith('demo-') ? {} : { project }),
        ...(program.getOptionValueSource('region') === 'cli' ? { region } : {}),
        ...options,
      };
      writeDown(await askForRest(given));
    });
}

async function askForRest(given: Partial<Answers>): Promise<Answers> {
  const answers: Record<string, string> = {};
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    for (const { name, ask, proposal } of questions) {
      const offered = proposal(answers);
      let value = given[name];
      if (value === undefined && !process.stdin.isTTY) value = offered;
      while (value === undefined || problemOf(name, value) !== undefined) {
        if (value !== undefined) say(pc.red(`${name}: ${problemOf(name, value) ?? ''}`));
        if (!process.stdin.isTTY) throw new Error(`Say it on the command line: ${name} (see npm run kiln -- init --help).`);
        const answer = (await terminal.question(`${ask}${offered === '' ? '' : ` [${offered}]`}: `)).trim();
        value = answer === '' ? offered : answer;
      }
      answers[name] = value;
    }
  } finally {
    terminal.close();
  }
  // Each question above has put its answer in.
  return answers as unknown as Answers;
}

function writeDown(answers: Answers): void {
  const envFile = join(ROOT, 'functions', `.env.${answers.project}`);
  writeFileSync(envFile, envText(answers, existsSync(envFile) ? readFileSync(envFile, 'utf8') : ''));
  for (const [file, change] of [
    ['.firebaserc', (text: string) => aliasText(text, answers.project)],
    ['firebase.json', (text: string) => rewritesText(text, answers.region)],
  ] as const) {
    const path = join(ROOT, file);
    writeFileSync(path, change(readFileSync(path, 'utf8')));
  }
  say(`Written: functions/.env.${answers.project}, the alias "production" in .firebaserc, the region of the rewrites in firebase.json.`);
  say('\nNow set the secrets (each asks for its value):\n');
  for (const name of SECRETS) say(`  firebase functions:secrets:set ${name} --project ${answers.project}`);
  say('\nThen see what else is missing:\n');
  say(`  npm run kiln -- doctor --project ${answers.project}`);
}
