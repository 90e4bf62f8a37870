import { asArray, asObject, asString, objectsIn } from '../json-objects.ts';
import type { JsonObject } from '../json-objects.ts';
import { listAll } from './doctor-apis.ts';
import type { GoogleApis } from './doctor-apis.ts';
import { refused } from './doctor-project.ts';
import type { Patient } from './doctor-project.ts';
import { gap, ok, unknown } from './doctor-report.ts';
import type { Finding } from './doctor-report.ts';

/** Functions next to a multi-region database: the region in which Eventarc delivers its triggers. */
const MULTI_REGIONS: Readonly<Record<string, readonly string[]>> = {
  nam5: ['us-central1'],
  nam7: ['us-central1'],
  eur3: ['europe-west1', 'europe-west4'],
};

const database = (project: string): string => `https://firestore.googleapis.com/v1/projects/${project}/databases/(default)`;

export async function checkDatabase(apis: GoogleApis, { project, region }: Patient): Promise<Finding> {
  const answer = await apis.get(database(project));
  if (answer.status === 404)
    return gap('database', 'there is no Firestore database', `gcloud firestore databases create --location=${region} --project=${project}`);
  if (answer.status !== 200) return refused('database', project, answer);
  if (answer.body['type'] !== 'FIRESTORE_NATIVE')
    return gap(
      'database',
      'the database is in Datastore mode, which has no triggers',
      `gcloud firestore databases update --type=firestore-native --project=${project}`,
    );
  const location = asString(answer.body['locationId']) ?? '';
  const fitting = MULTI_REGIONS[location] ?? [location];
  return fitting.includes(region)
    ? ok('database', `in ${location}, functions in ${region}`)
    : gap(
        'database',
        `the database is in ${location} and KILN_REGION is ${region}: triggers would not be delivered, or cross the world`,
        `sed -i.bak 's/^KILN_REGION=.*/KILN_REGION=${fitting[0] ?? location}/' functions/.env.${project}`,
      );
}

export async function checkIndexes(apis: GoogleApis, { project, indexes }: Patient): Promise<Finding> {
  const composite = await listAll(apis, `${database(project)}/collectionGroups/-/indexes?pageSize=500`, 'indexes');
  if ('refused' in composite) return refused('indexes', project, composite.refused);
  const fields = await listAll(apis, overrides(project), 'fields');
  if ('refused' in fields) return refused('indexes', project, fields.refused);
  const built = new Map([
    ...composite.items.map((item) => [indexKey(groupOf(item), item), asString(item['state'])] as const),
    ...fields.items.flatMap((field) => {
      const group = groupOf(field);
      return objectsIn(asObject(field['indexConfig'])?.['indexes']).map(
        (item) => [indexKey(group, item), asString(item['state'])] as const,
      );
    }),
  ]);
  const keys = [
    ...objectsIn(asObject(indexes)?.['indexes']).map((item) => indexKey(asString(item['collectionGroup']) ?? '', item)),
    // Fields that are found over all collections of a name: without them the reconciler finds nothing.
    ...objectsIn(asObject(indexes)?.['fieldOverrides']).flatMap((field) =>
      objectsIn(field['indexes']).map((item) =>
        indexKey(asString(field['collectionGroup']) ?? '', { ...item, fields: [{ ...item, fieldPath: field['fieldPath'] }] }),
      ),
    ),
  ];
  const missing = keys.filter((key) => !built.has(key));
  const unready = keys.filter((key) => built.has(key) && built.get(key) !== 'READY');
  const deploy = `firebase deploy --only firestore:indexes --project ${project}`;
  if (missing.length > 0) return gap('indexes', `${missing.length} of ${keys.length} are missing, the first: ${missing[0] ?? ''}`, deploy);
  if (unready.some((key) => built.get(key) === 'NEEDS_REPAIR'))
    return gap('indexes', `needs repair: ${unready.join('; ')}. Delete it in the console, then deploy again`, deploy);
  return unready.length === 0
    ? ok('indexes', `all ${keys.length} are built`)
    : unknown(
        'indexes',
        `${unready.length} of ${keys.length} are still being built; queries on them fail until then`,
        `npm run kiln -- doctor --project ${project}`,
      );
}

/** Fields with indexes or a time to live of their own. */
function overrides(project: string): string {
  return `${database(project)}/collectionGroups/-/fields?filter=indexConfig.usesAncestorConfig:false%20OR%20ttlConfig:*&pageSize=500`;
}

/** `projects/p/databases/d/collectionGroups/runs/indexes/x` → `runs`. */
function groupOf(item: JsonObject): string {
  return /\/collectionGroups\/([^/]+)\//.exec(asString(item['name']) ?? '')?.[1] ?? '';
}

/** Both the file and the API describe an index by its fields; the API adds the document's name at the end. */
function indexKey(group: string, item: JsonObject): string {
  const fields = asArray(item['fields']).flatMap((field) => {
    const found = asObject(field);
    const path = asString(found?.['fieldPath']);
    if (found === undefined || path === undefined || path === '__name__') return [];
    const vector = asObject(found['vectorConfig']);
    const kind =
      vector === undefined ? (asString(found['order']) ?? asString(found['arrayConfig']) ?? '') : `VECTOR(${String(vector['dimension'])})`;
    return [`${path} ${kind}`];
  });
  return `${group} ${asString(item['queryScope']) ?? 'COLLECTION'} [${fields.join(', ')}]`;
}

/** The fields by whose time documents are deleted; the file says which. */
export async function checkTtl(apis: GoogleApis, { project, indexes }: Patient): Promise<Finding> {
  const wanted = objectsIn(asObject(indexes)?.['fieldOverrides'])
    .filter((item) => item['ttl'] === true)
    .map((item) => `${asString(item['collectionGroup']) ?? ''}.${asString(item['fieldPath']) ?? ''}`);
  if (wanted.length === 0) return ok('ttl', 'firestore.indexes.json asks for no TTL policy');
  const listed = await listAll(apis, overrides(project), 'fields');
  if ('refused' in listed) return refused('ttl', project, listed.refused);
  const active = new Set(
    listed.items
      .filter((item) => asString(asObject(item['ttlConfig'])?.['state']) === 'ACTIVE')
      .map((item) => /\/collectionGroups\/([^/]+)\/fields\/(.+)$/.exec(asString(item['name']) ?? ''))
      .map((found) => `${found?.[1] ?? ''}.${found?.[2] ?? ''}`),
  );
  const missing = wanted.filter((field) => !active.has(field));
  return missing.length === 0
    ? ok('ttl', `${wanted.join(', ')} are active`)
    : gap(
        'ttl',
        `not active: ${missing.join(', ')}; old documents stay and cost`,
        `firebase deploy --only firestore:indexes --project ${project}`,
      );
}

export async function checkRules(apis: GoogleApis, { project, rules }: Patient): Promise<Finding> {
  const deploy = `firebase deploy --only firestore:rules --project ${project}`;
  const release = await apis.get(`https://firebaserules.googleapis.com/v1/projects/${project}/releases/cloud.firestore`);
  if (release.status === 404) return gap('rules', 'no security rules are deployed', deploy);
  if (release.status !== 200) return refused('rules', project, release);
  const ruleset = await apis.get(`https://firebaserules.googleapis.com/v1/${asString(release.body['rulesetName']) ?? ''}`);
  if (ruleset.status !== 200) return refused('rules', project, ruleset);
  const files = asArray(asObject(ruleset.body['source'])?.['files']);
  const deployed = asString(asObject(files[0])?.['content']) ?? '';
  return deployed.trim() === rules.trim()
    ? ok('rules', 'the deployed rules are those of firestore.rules')
    : gap('rules', 'the deployed rules are not those of firestore.rules', deploy);
}
