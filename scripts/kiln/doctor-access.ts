import { asArray, asString, objectsIn } from '../json-objects.ts';
import type { JsonObject } from '../json-objects.ts';
import type { GoogleApis } from './doctor-apis.ts';
import { refused } from './doctor-project.ts';
import type { Patient } from './doctor-project.ts';
import { gap, ok } from './doctor-report.ts';
import type { Finding } from './doctor-report.ts';

/** The queue is made by deploying the function of its name, in the function's region. */
export async function checkQueue(apis: GoogleApis, { project, region }: Patient): Promise<Finding> {
  const answer = await apis.get(`https://cloudtasks.googleapis.com/v2/projects/${project}/locations/${region}/queues/doorbell`);
  if (answer.status === 404)
    return gap(
      'queue',
      `there is no queue "doorbell" in ${region}; timers are then up to a minute late`,
      `firebase deploy --only functions:kiln:doorbell --project ${project}`,
    );
  if (answer.status !== 200) return refused('queue', project, answer);
  const state = asString(answer.body['state']) ?? '';
  return state === 'RUNNING'
    ? ok('queue', `doorbell runs in ${region}`)
    : gap('queue', `the queue is ${state.toLowerCase()}`, `gcloud tasks queues resume doorbell --location ${region} --project ${project}`);
}

interface Accounts {
  /** As whom the functions run. */
  readonly runtime: string;
  /** Whose token a doorbell carries. */
  readonly task: string;
}

/**
 * The commonest cause of 401 and 403 with task queues: the functions must be allowed to add tasks and to name the account whose
 * token these carry, and that account must be allowed to call the function that is rung.
 */
export async function checkRoles(apis: GoogleApis, patient: Patient, { runtime, task }: Accounts): Promise<Finding[]> {
  const { project, region } = patient;
  const account = `https://iam.googleapis.com/v1/projects/${project}/serviceAccounts/${task}`;
  const there = await apis.get(account);
  if (there.status === 404)
    return [
      gap(
        'roles',
        `the account ${task}, whose token doorbells carry, does not exist`,
        `echo KILN_SERVICE_ACCOUNT=${runtime} >> functions/.env.${project} && firebase deploy --only functions --project ${project}`,
      ),
    ];
  if (there.status !== 200) return [refused('roles', project, there)];
  const onProject = await apis.post(`https://cloudresourcemanager.googleapis.com/v1/projects/${project}:getIamPolicy`, {});
  if (onProject.status !== 200) return [refused('roles', project, onProject)];
  const onAccount = await apis.post(`${account}:getIamPolicy`, {});
  const onDoorbell = await apis.get(`https://run.googleapis.com/v2/projects/${project}/locations/${region}/services/doorbell:getIamPolicy`);
  const member = (email: string): string => `serviceAccount:${email}`;
  const findings: Finding[] = [];
  if (!grants(onProject.body, member(runtime), ['roles/cloudtasks.enqueuer', 'roles/cloudtasks.admin', ...BROAD]))
    findings.push(
      gap(
        'roles',
        `${runtime} may not add tasks`,
        `gcloud projects add-iam-policy-binding ${project} --member ${member(runtime)} --role roles/cloudtasks.enqueuer`,
      ),
    );
  const actAs = ['roles/iam.serviceAccountUser', ...BROAD];
  if (!grants(onProject.body, member(runtime), actAs) && !grants(onAccount.body, member(runtime), actAs))
    findings.push(
      gap(
        'roles',
        `${runtime} may not act as ${task}`,
        `gcloud iam service-accounts add-iam-policy-binding ${task} --member ${member(runtime)} --role roles/iam.serviceAccountUser --project ${project}`,
      ),
    );
  const invoke = ['roles/run.invoker', 'roles/run.admin', 'roles/owner'];
  if (onDoorbell.status === 200 && !grants(onDoorbell.body, member(task), invoke) && !grants(onProject.body, member(task), invoke))
    findings.push(
      gap(
        'roles',
        `${task} may not call the function that doorbells ring`,
        `gcloud run services add-iam-policy-binding doorbell --region ${region} --member ${member(task)} --role roles/run.invoker --project ${project}`,
      ),
    );
  if (!grants(onProject.body, member(runtime), ['roles/eventarc.eventReceiver', ...BROAD]))
    findings.push(
      gap(
        'roles',
        `${runtime} may not receive Firestore's events`,
        `gcloud projects add-iam-policy-binding ${project} --member ${member(runtime)} --role roles/eventarc.eventReceiver`,
      ),
    );
  return findings.length === 0 ? [ok('roles', `${runtime} may add tasks and receive events; ${task} may ring`)] : findings;
}

/** Roles that contain every one of those above. */
const BROAD = ['roles/owner', 'roles/editor'];

/** A binding under a condition is not counted: whether it holds cannot be seen from here. */
function grants(policy: JsonObject, member: string, roles: readonly string[]): boolean {
  return objectsIn(policy['bindings']).some(
    (binding) =>
      binding['condition'] === undefined && roles.includes(asString(binding['role']) ?? '') && asArray(binding['members']).includes(member),
  );
}
