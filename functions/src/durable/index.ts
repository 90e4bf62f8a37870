import { workflows } from '../workflows/index.ts';
import { ReplayingPlanner } from './code-planner.ts';
import { WorkflowRegistry } from './define-workflow.ts';

const registry = new WorkflowRegistry(workflows);

/** The code workflows of this deployment. */
export function codeWorkflows(): WorkflowRegistry {
  return registry;
}

export const codePlanner = new ReplayingPlanner(registry);
