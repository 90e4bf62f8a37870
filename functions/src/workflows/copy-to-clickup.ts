import { z } from 'zod';
import { azureDevOps, defineWorkflow } from '../durable/api.ts';
import { outside } from './outside.ts';

interface FullItem {
  readonly title: string;
  readonly description: string;
  readonly priority: number;
}

/** Each new work item of Azure DevOps becomes a task in ClickUp, once a lead has released it. */
export const copyToClickUp = defineWorkflow({
  id: 'copy-to-clickup',
  name: 'Copy to ClickUp',
  description: 'Copies new work items to ClickUp after a release by the lead.',
  trigger: azureDevOps.onWorkItemCreated(),
  input: z.object({ id: z.number().int(), project: z.string(), title: z.string(), type: z.string() }),
  async run({ event, input, step }) {
    if (input.type === 'Task') return { copied: false as const, why: 'tasks stay where they are' };
    const item = await step.run('fetch-item', (context) => outside.call<FullItem>('devops', `/workitems/${input.id}`, {}, context));
    const decision = await step.waitForApproval('release', {
      title: `Copy "${item.title}" to ClickUp?`,
      effect: `creates a task in the list of ${input.project}`,
      approvers: { department: 'product' },
      deadline: '7d',
      show: { item, address: event.payload.url },
    });
    if (!decision.approved) return { copied: false as const, why: decision.outcome };
    const task = await step.run('create-task', { retry: { maxAttempts: 5 } }, (context) =>
      outside.call<{ id: string; url: string }>(
        'clickup',
        '/tasks',
        { name: item.title, description: item.description, priority: item.priority },
        context,
      ),
    );
    await step.sleep('cooldown', '24h');
    await step.run('link-back', (context) => outside.call('devops', `/workitems/${input.id}/links`, { url: task.url }, context));
    return { copied: true as const, task: task.id };
  },
});
