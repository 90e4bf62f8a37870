import { installed, straight } from './engine.ts';
import type { Engine, Order, Place, StepResult } from './engine.ts';

interface Step {
  run(options: { name: string }, work: () => Promise<StepResult>): Promise<StepResult>;
}

interface Run {
  readonly id: string;
  readonly status: string;
}

interface Backend {
  getWorkflowRun(options: { workflowRunId: string }): Promise<Run | null>;
}

interface Sdk {
  readonly OpenWorkflow: new (options: { backend: Backend }) => {
    defineWorkflow(
      spec: { name: string },
      workflow: (of: { input: Order; step: Step }) => Promise<void>,
    ): { run(order: Order): Promise<{ readonly workflowRun: Run }> };
    newWorker(options: { concurrency: number }): { start(): Promise<void> };
  };
}

interface Sqlite {
  readonly BackendSqlite: { connect(file: string): Backend };
}

export async function openworkflow({ folder, url }: Place): Promise<Engine> {
  const { OpenWorkflow } = await installed<Sdk>(folder, 'openworkflow');
  const { BackendSqlite } = await installed<Sqlite>(folder, 'openworkflow/sqlite');
  const backend = BackendSqlite.connect(url);
  const client = new OpenWorkflow({ backend });
  const returned = new Map<string, () => void>();
  const workflow = client.defineWorkflow({ name: 'straight' }, async ({ input, step }) => {
    await straight(input, (name, work) => step.run({ name }, work));
    returned.get(input.run)?.();
  });
  await client.newWorker({ concurrency: 50 }).start();
  return {
    // Its own wait for a result asks once a second.
    perform: async (order) => {
      const end = new Promise<void>((resolve) => void returned.set(order.run, resolve));
      const { workflowRun } = await workflow.run(order);
      await end;
      returned.delete(order.run);
      while ((await backend.getWorkflowRun({ workflowRunId: workflowRun.id }))?.status !== 'completed')
        await new Promise((resolve) => setImmediate(resolve));
    },
  };
}
