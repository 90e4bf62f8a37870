import { installed, straight } from './engine.ts';
import type { Engine, Order, Place, StepResult } from './engine.ts';

type Workflow = (order: Order) => Promise<void>;

interface Sdk {
  readonly DBOS: {
    setConfig(config: { name: string; applicationVersion: string; systemDatabaseUrl: string; logLevel: string }): void;
    registerWorkflow(workflow: Workflow, options: { name: string }): Workflow;
    runStep(work: () => Promise<StepResult>, options: { name: string }): Promise<StepResult>;
    launch(): Promise<void>;
    startWorkflow(workflow: Workflow): (order: Order) => Promise<{ getResult(): Promise<void> }>;
  };
}

export async function dbos({ folder, url }: Place): Promise<Engine> {
  const { DBOS } = await installed<Sdk>(folder, '@dbos-inc/dbos-sdk');
  DBOS.setConfig({ name: 'peers', applicationVersion: '1', systemDatabaseUrl: url, logLevel: 'error' });
  const workflow = DBOS.registerWorkflow((order) => straight(order, (name, work) => DBOS.runStep(work, { name })), { name: 'straight' });
  await DBOS.launch();
  return { perform: async (order) => (await DBOS.startWorkflow(workflow)(order)).getResult() };
}
