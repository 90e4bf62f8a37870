import { asArray, asObject, asString } from '../json-objects.ts';
import { advice, gap, ok } from './doctor-report.ts';
import type { Finding } from './doctor-report.ts';

/** What this machine and this folder say of themselves. */
export interface Machine {
  readonly node: string;
  /** Undefined where none was found. */
  readonly java: number | undefined;
  readonly firebaseCli: string | undefined;
  readonly gcloud: boolean;
}

const OLDEST = { node: 22, java: 17, firebaseCli: 14 } as const;

export function checkMachine({ node, java, firebaseCli, gcloud }: Machine): Finding[] {
  const major = (version: string): number => Number(version.replace(/^v/, '').split('.')[0]);
  return [
    major(node) >= OLDEST.node ? ok('node', node) : gap('node', `${node} is too old; ${OLDEST.node} or newer is needed`, 'npm ci'),
    java !== undefined && java >= OLDEST.java
      ? ok('java', `Java ${java}`)
      : gap(
          'java',
          java === undefined ? 'none was found; the emulators need one' : `Java ${java} is too old`,
          'apt-get install default-jre-headless',
        ),
    firebaseCli !== undefined && major(firebaseCli) >= OLDEST.firebaseCli
      ? ok('firebase-cli', firebaseCli)
      : gap(
          'firebase-cli',
          firebaseCli === undefined ? 'the Firebase CLI was not found' : `${firebaseCli} cannot deploy nodejs24`,
          'npm ci',
        ),
    gcloud
      ? ok('gcloud', 'found')
      : gap('gcloud', 'not found; the doctor asks Google with its token', 'https://cloud.google.com/sdk/docs/install'),
  ];
}

export interface Settings {
  readonly project: string;
  /** functions/.env.<project>, read; undefined where there is none. */
  readonly env: Readonly<Record<string, string | undefined>> | undefined;
  /** firebase.json. */
  readonly firebaseJson: unknown;
}

/** Checks that need no network: what a deployment would be told. */
export function checkSettings({ project, env, firebaseJson }: Settings): Finding[] {
  if (env === undefined) return [gap('settings', `functions/.env.${project} is missing`, `npm run kiln -- init --project ${project}`)];
  const region = env['KILN_REGION'] ?? 'us-central1';
  const file = `functions/.env.${project}`;
  const findings: Finding[] = [];
  const sender = env['KILN_MAIL_FROM'] ?? '';
  if (!/^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(sender) || sender.endsWith('@example.com'))
    findings.push(
      gap(
        'settings',
        `KILN_MAIL_FROM in ${file} is no address of yours; SendGrid refuses mails from it`,
        `npm run kiln -- init --project ${project}`,
      ),
    );
  if (!/^https:\/\/[^/]+$/.test(env['KILN_WEB_URL'] ?? ''))
    findings.push(
      gap(
        'settings',
        `KILN_WEB_URL in ${file} is no https origin; links in mails would lead nowhere`,
        `npm run kiln -- init --project ${project}`,
      ),
    );
  if (env['KILN_ALLOW_PRIVATE_HOSTS'] !== undefined && env['KILN_ALLOW_PRIVATE_HOSTS'] !== '')
    findings.push(
      gap(
        'settings',
        `KILN_ALLOW_PRIVATE_HOSTS is set in ${file}: steps could call private addresses`,
        `sed -i.bak '/^KILN_ALLOW_PRIVATE_HOSTS=/d' ${file}`,
      ),
    );
  const leaked = Object.keys(env).filter((name) => /_API_KEY$|_TOKEN$|_SECRET$/.test(name) && (env[name] ?? '') !== '');
  if (leaked.length > 0)
    findings.push(
      gap(
        'settings',
        `${leaked.join(', ')} in ${file} would be deployed in the open`,
        `firebase functions:secrets:set ${leaked[0] ?? ''} --project ${project}`,
      ),
    );
  if (env['KILN_SERVICE_ACCOUNT'] === undefined)
    findings.push(
      advice(
        'settings',
        `KILN_SERVICE_ACCOUNT is not set: doorbells carry the token of ${project}@appspot.gserviceaccount.com`,
        `npm run kiln -- init --project ${project}`,
      ),
    );
  const elsewhere = rewritesOutside(firebaseJson, region);
  if (elsewhere.length > 0)
    findings.push(
      gap(
        'hosting',
        `firebase.json sends ${elsewhere.join(', ')} to another region than ${region}`,
        `npm run kiln -- init --project ${project} --region ${region}`,
      ),
    );
  return findings.length === 0 ? [ok('settings', `${file} is complete; rewrites lead to ${region}`)] : findings;
}

/** Sources of rewrites to a function outside of the region. Without a region, Hosting takes us-central1. */
export function rewritesOutside(firebaseJson: unknown, region: string): string[] {
  return asArray(asObject(asObject(firebaseJson)?.['hosting'])?.['rewrites']).flatMap((rewrite) => {
    const found = asObject(rewrite);
    const target = asObject(found?.['function']);
    if (target === undefined || (asString(target['region']) ?? 'us-central1') === region) return [];
    return [asString(found?.['source']) ?? '?'];
  });
}
