/** The answers of a project in which everything is in order, in the form in which Google's APIs give them; and how to spoil them. */
import type { ApiAnswer, GoogleApis } from './doctor-apis.ts';
import { NEEDED_APIS } from './doctor-project.ts';
import type { Patient } from './doctor-project.ts';
import { FUNCTIONS } from './doctor.ts';

const rules = "rules_version = '2';\n";
const indexes = {
  indexes: [
    {
      collectionGroup: 'runs',
      queryScope: 'COLLECTION',
      fields: [
        { fieldPath: 'status', order: 'ASCENDING' },
        { fieldPath: 'createdAt', order: 'DESCENDING' },
      ],
    },
    {
      collectionGroup: 'kbChunks',
      queryScope: 'COLLECTION',
      fields: [{ fieldPath: 'embedding', vectorConfig: { dimension: 1536, flat: {} } }],
    },
  ],
  fieldOverrides: [
    { collectionGroup: 'events', fieldPath: 'expireAt', ttl: true, indexes: [] },
    { collectionGroup: 'steps', fieldPath: 'due', indexes: [{ order: 'ASCENDING', queryScope: 'COLLECTION_GROUP' }] },
  ],
};
export const runtime = '4711-compute@developer.gserviceaccount.com';

export function patient(more: Partial<Patient> = {}): Patient {
  return {
    project: 'acme-kiln',
    region: 'europe-west1',
    secrets: ['OPENAI_API_KEY'],
    taskAccount: runtime,
    functions: FUNCTIONS,
    rules,
    indexes,
    ...more,
  };
}

const database = 'https://firestore.googleapis.com/v1/projects/acme-kiln/databases/(default)';
export const member = `serviceAccount:${runtime}`;
export const at = {
  project: 'https://cloudresourcemanager.googleapis.com/v1/projects/acme-kiln',
  policy: 'https://cloudresourcemanager.googleapis.com/v1/projects/acme-kiln:getIamPolicy',
  billing: 'https://cloudbilling.googleapis.com/v1/projects/acme-kiln/billingInfo',
  services: 'https://serviceusage.googleapis.com/v1/projects/acme-kiln/services?filter=state:ENABLED&pageSize=200',
  functions: 'https://cloudfunctions.googleapis.com/v2/projects/acme-kiln/locations/europe-west1/functions?pageSize=200',
  database,
  indexes: `${database}/collectionGroups/-/indexes?pageSize=500`,
  fields: `${database}/collectionGroups/-/fields?filter=indexConfig.usesAncestorConfig:false%20OR%20ttlConfig:*&pageSize=500`,
  release: 'https://firebaserules.googleapis.com/v1/projects/acme-kiln/releases/cloud.firestore',
  ruleset: 'https://firebaserules.googleapis.com/v1/projects/acme-kiln/rulesets/abc',
  secret: 'https://secretmanager.googleapis.com/v1/projects/acme-kiln/secrets/OPENAI_API_KEY/versions/latest',
  queue: 'https://cloudtasks.googleapis.com/v2/projects/acme-kiln/locations/europe-west1/queues/doorbell',
  account: `https://iam.googleapis.com/v1/projects/acme-kiln/serviceAccounts/${runtime}`,
  accountPolicy: `https://iam.googleapis.com/v1/projects/acme-kiln/serviceAccounts/${runtime}:getIamPolicy`,
  doorbell: 'https://run.googleapis.com/v2/projects/acme-kiln/locations/europe-west1/services/doorbell:getIamPolicy',
  budgets: 'https://billingbudgets.googleapis.com/v1/billingAccounts/01AB/budgets?pageSize=100',
} as const;

export type Answers = Record<string, ApiAnswer | undefined>;
export const good = (body: ApiAnswer['body']): ApiAnswer => ({ status: 200, body });
export const bindings = (...pairs: readonly (readonly [string, string])[]): ApiAnswer =>
  good({ bindings: pairs.map(([role, one]) => ({ role, members: [one] })) });
export const failure = (status: number, message: string, details: readonly object[] = []): ApiAnswer => ({
  status,
  body: { error: { code: status, message, details } },
});

export const expiry = {
  name: 'projects/acme-kiln/databases/(default)/collectionGroups/events/fields/expireAt',
  indexConfig: {},
  ttlConfig: { state: 'ACTIVE' },
};
export const dueField = {
  name: 'projects/acme-kiln/databases/(default)/collectionGroups/steps/fields/due',
  indexConfig: { indexes: [{ queryScope: 'COLLECTION_GROUP', fields: [{ fieldPath: 'due', order: 'ASCENDING' }], state: 'READY' }] },
};

/** The answers of a project in which everything is in order, in the form in which the APIs give them. */
export function healthy(): Answers {
  return {
    [at.project]: good({ projectNumber: '4711', projectId: 'acme-kiln', lifecycleState: 'ACTIVE' }),
    [at.billing]: good({ billingAccountName: 'billingAccounts/01AB', billingEnabled: true }),
    [at.services]: good({
      services: NEEDED_APIS.map((name) => ({ name: `projects/4711/services/${name}`, config: { name }, state: 'ENABLED' })),
    }),
    [at.functions]: good({
      functions: FUNCTIONS.map((name) => ({
        name: `projects/acme-kiln/locations/europe-west1/functions/${name}`,
        state: 'ACTIVE',
        serviceConfig: { serviceAccountEmail: runtime },
      })),
    }),
    [at.database]: good({ name: 'projects/acme-kiln/databases/(default)', locationId: 'eur3', type: 'FIRESTORE_NATIVE' }),
    [at.indexes]: good({
      indexes: [
        {
          name: 'projects/acme-kiln/databases/(default)/collectionGroups/runs/indexes/1',
          queryScope: 'COLLECTION',
          fields: [
            { fieldPath: 'status', order: 'ASCENDING' },
            { fieldPath: 'createdAt', order: 'DESCENDING' },
            { fieldPath: '__name__', order: 'DESCENDING' },
          ],
          state: 'READY',
        },
        {
          name: 'projects/acme-kiln/databases/(default)/collectionGroups/kbChunks/indexes/2',
          queryScope: 'COLLECTION',
          fields: [
            { fieldPath: '__name__', order: 'ASCENDING' },
            { fieldPath: 'embedding', vectorConfig: { dimension: 1536, flat: {} } },
          ],
          state: 'READY',
        },
      ],
    }),
    [at.fields]: good({ fields: [expiry, dueField] }),
    [at.release]: good({ name: 'projects/acme-kiln/releases/cloud.firestore', rulesetName: 'projects/acme-kiln/rulesets/abc' }),
    [at.ruleset]: good({ source: { files: [{ name: 'firestore.rules', content: rules }] } }),
    [at.secret]: good({ name: 'projects/4711/secrets/OPENAI_API_KEY/versions/1', state: 'ENABLED' }),
    [at.queue]: good({ name: 'projects/acme-kiln/locations/europe-west1/queues/doorbell', state: 'RUNNING' }),
    [at.account]: good({ email: runtime }),
    [at.accountPolicy]: good({}),
    [at.doorbell]: bindings(['roles/run.invoker', member]),
    [at.policy]: bindings(
      ['roles/cloudtasks.enqueuer', member],
      ['roles/iam.serviceAccountUser', member],
      ['roles/eventarc.eventReceiver', member],
    ),
    [at.budgets]: good({ budgets: [{ displayName: 'kiln' }] }),
  };
}

export function recorded(answers: Answers): GoogleApis {
  const answer = (url: string): Promise<ApiAnswer> => Promise.resolve(answers[url] ?? failure(404, `not found: ${url}`));
  return { get: answer, post: answer };
}
