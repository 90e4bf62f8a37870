import { z } from 'zod';
import { triggers } from '../triggers.ts';
import type { WebhookTrigger } from '../triggers.ts';

/** Azure DevOps service hooks: https://learn.microsoft.com/azure/devops/service-hooks/events (resource version 1.0). */

export interface WorkItem {
  readonly id: number;
  readonly revision: number;
  readonly project: string;
  readonly type: string;
  readonly state: string;
  readonly title: string;
  /** As the service writes it: `Name <mail address>`. */
  readonly createdBy: string | undefined;
  readonly assignedTo: string | undefined;
  /** The address of the item in the API. */
  readonly url: string;
  /** The delivery's own id. */
  readonly deliveryId: string;
}

export interface WorkItemChange extends WorkItem {
  /** Fields that changed, by their reference names. */
  readonly changes: Readonly<Record<string, { readonly before: unknown; readonly after: unknown }>>;
}

export interface GitPush {
  readonly pushId: number;
  readonly repository: string;
  readonly project: string;
  readonly pushedBy: string;
  readonly refs: readonly { readonly name: string; readonly before: string; readonly after: string }[];
  readonly commits: readonly { readonly id: string; readonly comment: string; readonly url: string }[];
  readonly deliveryId: string;
}

const itemFields = z.looseObject({
  'System.TeamProject': z.string(),
  'System.WorkItemType': z.string(),
  'System.State': z.string(),
  'System.Title': z.string(),
  'System.CreatedBy': z.string().optional(),
  'System.AssignedTo': z.string().optional(),
});

const envelope = { id: z.string(), publisherId: z.string() } as const;

function workItem(deliveryId: string, item: { id: number; rev: number; fields: z.infer<typeof itemFields>; url: string }): WorkItem {
  const { fields } = item;
  return {
    id: item.id,
    revision: item.rev,
    project: fields['System.TeamProject'],
    type: fields['System.WorkItemType'],
    state: fields['System.State'],
    title: fields['System.Title'],
    createdBy: fields['System.CreatedBy'],
    assignedTo: fields['System.AssignedTo'],
    url: item.url,
    deliveryId,
  };
}

const itemResource = z.object({ id: z.number().int(), rev: z.number().int(), fields: itemFields, url: z.string() });

const created = z
  .object({ ...envelope, eventType: z.literal('workitem.created'), resource: itemResource })
  .transform(({ id, resource }): WorkItem => workItem(id, resource));

const updated = z
  .object({
    ...envelope,
    eventType: z.literal('workitem.updated'),
    resource: z.object({
      workItemId: z.number().int(),
      fields: z.record(z.string(), z.looseObject({ oldValue: z.unknown().optional(), newValue: z.unknown().optional() })).optional(),
      revision: z.object({ rev: z.number().int(), fields: itemFields, url: z.string() }),
    }),
  })
  .transform(({ id, resource }): WorkItemChange => {
    const changes = Object.entries(resource.fields ?? {}).map(
      ([name, { oldValue, newValue }]) => [name, { before: oldValue ?? null, after: newValue ?? null }] as const,
    );
    return { ...workItem(id, { id: resource.workItemId, ...resource.revision }), changes: Object.fromEntries(changes) };
  });

const push = z
  .object({
    ...envelope,
    eventType: z.literal('git.push'),
    resource: z.object({
      pushId: z.number().int(),
      pushedBy: z.looseObject({ displayName: z.string() }),
      repository: z.looseObject({ name: z.string(), project: z.looseObject({ name: z.string() }) }),
      refUpdates: z.array(z.looseObject({ name: z.string(), oldObjectId: z.string(), newObjectId: z.string() })),
      commits: z.array(z.looseObject({ commitId: z.string(), comment: z.string(), url: z.string() })).optional(),
    }),
  })
  .transform(({ id, resource }): GitPush => ({
    pushId: resource.pushId,
    repository: resource.repository.name,
    project: resource.repository.project.name,
    pushedBy: resource.pushedBy.displayName,
    refs: resource.refUpdates.map(({ name, oldObjectId, newObjectId }) => ({ name, before: oldObjectId, after: newObjectId })),
    commits: (resource.commits ?? []).map(({ commitId, comment, url }) => ({ id: commitId, comment, url })),
    deliveryId: id,
  }));

const scheme = { kind: 'azure_devops' } as const;

export const azureDevOps = {
  onWorkItemCreated: (): WebhookTrigger<WorkItem> => triggers.webhook(scheme, { events: ['workitem.created'], payload: created }),
  onWorkItemUpdated: (): WebhookTrigger<WorkItemChange> => triggers.webhook(scheme, { events: ['workitem.updated'], payload: updated }),
  onGitPush: (): WebhookTrigger<GitPush> => triggers.webhook(scheme, { events: ['git.push'], payload: push }),
} as const;
