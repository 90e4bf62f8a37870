import { asArray, asObject, asString } from '../json-objects.ts';
import { disabledApi, listAll } from './doctor-apis.ts';
import type { ApiAnswer, GoogleApis } from './doctor-apis.ts';
import { advice, gap, ok, unknown } from './doctor-report.ts';
import type { Finding } from './doctor-report.ts';

/** What the doctor is told: the project and how it is meant to be set up. */
export interface Patient {
  readonly project: string;
  readonly region: string;
  /** Names in KILN_SECRETS. */
  readonly secrets: readonly string[];
  /** KILN_SERVICE_ACCOUNT: whose token doorbells carry. */
  readonly taskAccount: string | undefined;
  /** Names of the functions that the code exports. */
  readonly functions: readonly string[];
  /** firestore.rules. */
  readonly rules: string;
  /** firestore.indexes.json. */
  readonly indexes: unknown;
}

/** APIs that a deployment calls, or that deploying it needs. */
export const NEEDED_APIS = [
  'firestore.googleapis.com',
  'cloudfunctions.googleapis.com',
  'run.googleapis.com',
  'eventarc.googleapis.com',
  'cloudtasks.googleapis.com',
  'cloudbuild.googleapis.com',
  'artifactregistry.googleapis.com',
  'secretmanager.googleapis.com',
  'pubsub.googleapis.com',
  'cloudscheduler.googleapis.com',
] as const;

/** What a check says when an answer is no success and means nothing else to it. */
export function refused(check: string, project: string, answer: ApiAnswer): Finding {
  const api = disabledApi(answer);
  if (api !== undefined) return gap(check, `${api} is off in ${project}`, `gcloud services enable ${api} --project ${project}`);
  const message = asString(asObject(answer.body['error'])?.['message']) ?? 'no message';
  if (answer.status === 401) return unknown(check, 'you are not signed in any more', 'gcloud auth login');
  if (answer.status === 403)
    return unknown(
      check,
      `you may not look at this: ${message}`,
      `gcloud projects add-iam-policy-binding ${project} --member user:$(gcloud config get-value account) --role roles/viewer`,
    );
  return unknown(check, `Google answered ${answer.status}: ${message}`, `npm run kiln -- doctor --project ${project}`);
}

/** The project's number, or why there is none. Everything else hangs on it. */
export async function checkProject(apis: GoogleApis, { project }: Patient): Promise<{ finding: Finding; number?: string }> {
  const answer = await apis.get(`https://cloudresourcemanager.googleapis.com/v1/projects/${project}`);
  const number = asString(answer.body['projectNumber']);
  if (answer.status === 403 || answer.status === 404) {
    if (disabledApi(answer) !== undefined) return { finding: refused('project', project, answer) };
    return { finding: gap('project', `there is no project "${project}", or you have no access to it`, 'gcloud projects list') };
  }
  if (answer.status !== 200 || number === undefined) return { finding: refused('project', project, answer) };
  if (answer.body['lifecycleState'] !== 'ACTIVE')
    return { finding: gap('project', `${project} is being deleted`, `gcloud projects undelete ${project}`) };
  return { finding: ok('project', `${project} (${number})`), number };
}

export async function checkBilling(apis: GoogleApis, { project }: Patient): Promise<Finding> {
  const answer = await apis.get(`https://cloudbilling.googleapis.com/v1/projects/${project}/billingInfo`);
  if (answer.status !== 200) return refused('billing', project, answer);
  return answer.body['billingEnabled'] === true
    ? ok('billing', 'Blaze')
    : gap(
        'billing',
        'the project is on the Spark plan; Cloud Functions need Blaze',
        `gcloud billing projects link ${project} --billing-account "$(gcloud billing accounts list --filter open=true --format 'value(name)' --limit 1)"`,
      );
}

export async function checkApis(apis: GoogleApis, { project }: Patient): Promise<Finding> {
  const url = `https://serviceusage.googleapis.com/v1/projects/${project}/services?filter=state:ENABLED&pageSize=200`;
  const listed = await listAll(apis, url, 'services');
  if ('refused' in listed) return refused('apis', project, listed.refused);
  const enabled = new Set(listed.items.map((service) => asString(asObject(service['config'])?.['name'])));
  const missing = NEEDED_APIS.filter((api) => !enabled.has(api));
  return missing.length === 0
    ? ok('apis', `all ${NEEDED_APIS.length} are on`)
    : gap('apis', `off: ${missing.join(', ')}`, `gcloud services enable ${missing.join(' ')} --project ${project}`);
}

/** What is deployed, and as whom the deployed functions run. */
export async function checkFunctions(apis: GoogleApis, patient: Patient): Promise<{ finding: Finding; account?: string }> {
  const { project, region } = patient;
  const listed = await listAll(
    apis,
    `https://cloudfunctions.googleapis.com/v2/projects/${project}/locations/${region}/functions?pageSize=200`,
    'functions',
  );
  if ('refused' in listed) return { finding: refused('functions', project, listed.refused) };
  const states = new Map(listed.items.map((item) => [asString(item['name'])?.split('/').at(-1), asString(item['state'])]));
  const missing = patient.functions.filter((name) => !states.has(name));
  const broken = patient.functions.filter((name) => states.has(name) && states.get(name) !== 'ACTIVE');
  const account = asString(asObject(listed.items[0]?.['serviceConfig'])?.['serviceAccountEmail']);
  const withAccount = account === undefined ? {} : { account };
  const deploy = (names: readonly string[]): string =>
    `firebase deploy --only ${names.map((name) => `functions:kiln:${name}`).join(',')} --project ${project}`;
  if (missing.length === patient.functions.length)
    return { finding: gap('functions', `none is deployed in ${region}`, `firebase deploy --only functions --project ${project}`) };
  if (missing.length > 0)
    return { finding: gap('functions', `not deployed in ${region}: ${missing.join(', ')}`, deploy(missing)), ...withAccount };
  if (broken.length > 0)
    return {
      finding: gap(
        'functions',
        `not active: ${broken.map((name) => `${name} (${states.get(name) ?? ''})`).join(', ')}. A first deploy needs some minutes until Eventarc may deliver`,
        deploy(broken),
      ),
      ...withAccount,
    };
  return { finding: ok('functions', `all ${patient.functions.length} are active in ${region}`), ...withAccount };
}

export async function checkSecrets(apis: GoogleApis, { project, secrets }: Patient): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const name of secrets) {
    const answer = await apis.get(`https://secretmanager.googleapis.com/v1/projects/${project}/secrets/${name}/versions/latest`);
    const set = `firebase functions:secrets:set ${name} --project ${project}`;
    if (answer.status === 404) findings.push(gap('secrets', `${name} is in KILN_SECRETS and not in Secret Manager`, set));
    else if (answer.status !== 200) findings.push(refused('secrets', project, answer));
    else if (answer.body['state'] !== 'ENABLED') findings.push(gap('secrets', `the newest version of ${name} is switched off`, set));
  }
  if (!secrets.includes('OPENAI_API_KEY'))
    findings.push(
      advice(
        'secrets',
        'no OPENAI_API_KEY in KILN_SECRETS: recipe steps will fail with secret.missing',
        `npm run kiln -- init --project ${project}`,
      ),
    );
  return findings.length === 0 ? [ok('secrets', `${secrets.length} are there: ${secrets.join(', ')}`)] : findings;
}

/** The first page of answers is enough to see whether anybody would notice a bill that grows. */
export async function checkBudget(apis: GoogleApis, { project }: Patient): Promise<Finding> {
  const billing = await apis.get(`https://cloudbilling.googleapis.com/v1/projects/${project}/billingInfo`);
  const account = asString(billing.body['billingAccountName']);
  const create = `gcloud billing budgets create --billing-account=${account?.split('/').at(-1) ?? 'ACCOUNT'} --display-name=kiln --budget-amount=50 --filter-projects=projects/${project} --threshold-rule=percent=0.5 --threshold-rule=percent=1`;
  if (account === undefined || account === '') return advice('budget', 'no billing account, so no budget alarm', create);
  const answer = await apis.get(`https://billingbudgets.googleapis.com/v1/${account}/budgets?pageSize=100`);
  if (answer.status !== 200) return advice('budget', 'budgets could not be read; make sure that there is an alarm', create);
  return asArray(answer.body['budgets']).length > 0
    ? ok('budget', 'the billing account has a budget')
    : advice('budget', 'nobody is told when the bill grows', create);
}
