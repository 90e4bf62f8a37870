import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { DEMO_DESK, DEMO_HOOK } from '../kiln/people.ts';
import { PROJECT_ID, ROOT } from '../root.ts';
import { SUITE_PORTS } from './suite.ts';

/** Where a person may have set something, besides the shell and `.env.local`. The Functions emulator reads these itself. */
const FUNCTIONS_FILES = ['.env', `.env.${PROJECT_ID}`, '.env.local', '.secret.local'];

type Env = Record<string, string | undefined>;

/** Everything the person set, wherever. Empty means absent. */
export function ownSettings(shell: Env = process.env): Env {
  const settings: Env = { ...shell };
  for (const file of FUNCTIONS_FILES) {
    const path = join(ROOT, 'functions', file);
    if (existsSync(path)) Object.assign(settings, parseEnv(readFileSync(path, 'utf8')));
  }
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined && value !== ''));
}

/** Settings that only make sense together: a person's key must not meet the local service's address. */
const MODEL = ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'KILN_DEFAULT_MODEL', 'KILN_EMBEDDING_MODEL'];
const MAIL = ['SENDGRID_API_KEY', 'KILN_MAIL_BASE_URL', 'KILN_MAIL_FROM'];

export interface LocalEnvironment {
  /** What firebase-tools gets in addition to the shell's environment; it hands its own on to the functions. */
  readonly env: Env;
  readonly realModel: boolean;
  readonly realMail: boolean;
}

/** The environment of the functions: local services, except where the person named real ones. */
export function localEnvironment(own: Env, services: Readonly<Record<string, string>>): LocalEnvironment {
  const realModel = own['OPENAI_API_KEY'] !== undefined;
  const realMail = own['SENDGRID_API_KEY'] !== undefined;
  const skipped = new Set([...(realModel ? MODEL : []), ...(realMail ? MAIL : [])]);
  const local = Object.fromEntries(Object.entries(services).filter(([name]) => !skipped.has(name)));
  // The Functions emulator overwrites CLOUD_TASKS_EMULATOR_HOST with the address of its own Tasks emulator.
  const tasks = { KILN_TASKS_HOST: services['CLOUD_TASKS_EMULATOR_HOST'] };
  // What the demo account's webhooks are signed with is worth nothing; a person's own secrets stay beside it.
  const secrets = Object.fromEntries([DEMO_HOOK, DEMO_DESK].map(({ secretName, secret }) => [secretName, own[secretName] ?? secret]));
  const demo = {
    KILN_SECRETS: [...new Set([...(own['KILN_SECRETS'] ?? '').split(','), ...Object.keys(secrets)])]
      .filter((name) => name !== '')
      .join(','),
    ...secrets,
    KILN_COUNT_USAGE: 'true',
    METADATA_SERVER_DETECTION: 'none',
  };
  const web = { KILN_WEB_URL: own['KILN_WEB_URL'] ?? `http://127.0.0.1:${SUITE_PORTS.hosting}` };
  return { env: { ...local, ...tasks, ...demo, ...web }, realModel, realMail };
}

/** For programs that talk to the running emulators, such as seeding, the demo and the CLI. */
export function clientEnvironment(): Record<string, string> {
  return {
    GCLOUD_PROJECT: PROJECT_ID,
    FIRESTORE_EMULATOR_HOST: `127.0.0.1:${SUITE_PORTS.firestore}`,
    FIREBASE_AUTH_EMULATOR_HOST: `127.0.0.1:${SUITE_PORTS.auth}`,
    // Otherwise the Google libraries look for a metadata server first.
    METADATA_SERVER_DETECTION: 'none',
  };
}
