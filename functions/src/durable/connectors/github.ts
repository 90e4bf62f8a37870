import { z } from 'zod';
import { triggers } from '../triggers.ts';
import type { WebhookTrigger } from '../triggers.ts';

/** GitHub webhooks: https://docs.github.com/webhooks/webhook-events-and-payloads. The fields that workflows mostly need; `on` takes a schema for others. */

const user = z.object({ login: z.string(), id: z.number(), type: z.string() });
const repository = z.object({
  id: z.number(),
  name: z.string(),
  full_name: z.string(),
  private: z.boolean(),
  html_url: z.string(),
  default_branch: z.string(),
});
const common = { repository, sender: user } as const;

const push = z.object({
  ...common,
  ref: z.string(),
  before: z.string(),
  after: z.string(),
  created: z.boolean(),
  deleted: z.boolean(),
  forced: z.boolean(),
  compare: z.string(),
  commits: z.array(
    z.object({
      id: z.string(),
      message: z.string(),
      timestamp: z.string(),
      url: z.string(),
      author: z.object({ name: z.string(), email: z.string().nullish() }),
    }),
  ),
});

const branch = z.object({ ref: z.string(), sha: z.string() });

const pullRequest = z.object({
  ...common,
  action: z.string(),
  number: z.number(),
  pull_request: z.object({
    id: z.number(),
    number: z.number(),
    state: z.enum(['open', 'closed']),
    title: z.string(),
    body: z.string().nullable(),
    html_url: z.string(),
    draft: z.boolean(),
    merged: z.boolean().nullish(),
    user,
    head: branch,
    base: branch,
  }),
});

const issue = z.object({
  id: z.number(),
  number: z.number(),
  title: z.string(),
  body: z.string().nullable(),
  state: z.string().optional(),
  html_url: z.string(),
  user,
  labels: z.array(z.object({ name: z.string() })).optional(),
});

const issues = z.object({ ...common, action: z.string(), issue });

const issueComment = z.object({
  ...common,
  action: z.enum(['created', 'edited', 'deleted']),
  issue,
  comment: z.object({ id: z.number(), body: z.string(), html_url: z.string(), user }),
});

const release = z.object({
  ...common,
  action: z.string(),
  release: z.object({
    id: z.number(),
    tag_name: z.string(),
    name: z.string().nullable(),
    body: z.string().nullish(),
    draft: z.boolean(),
    prerelease: z.boolean(),
    html_url: z.string(),
  }),
});

const scheme = { kind: 'github' } as const;

export const github = {
  /** Any event, with a schema of one's own for its payload. */
  on: <P>(event: string, payload: z.ZodType<P>): WebhookTrigger<P> => triggers.webhook(scheme, { events: [event], payload }),
  onPush: (): WebhookTrigger<z.infer<typeof push>> => triggers.webhook(scheme, { events: ['push'], payload: push }),
  onPullRequest: (): WebhookTrigger<z.infer<typeof pullRequest>> =>
    triggers.webhook(scheme, { events: ['pull_request'], payload: pullRequest }),
  onIssue: (): WebhookTrigger<z.infer<typeof issues>> => triggers.webhook(scheme, { events: ['issues'], payload: issues }),
  onIssueComment: (): WebhookTrigger<z.infer<typeof issueComment>> =>
    triggers.webhook(scheme, { events: ['issue_comment'], payload: issueComment }),
  onRelease: (): WebhookTrigger<z.infer<typeof release>> => triggers.webhook(scheme, { events: ['release'], payload: release }),
} as const;
