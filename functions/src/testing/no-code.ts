import type { CodePlanner } from '../runner/code-planner.ts';

/** The planner of a runtime without code workflows: nothing is started by itself, and what concerns a code run is a mistake of the test. */
export const noCode: CodePlanner = new Proxy({} as CodePlanner, {
  get: (_target, name) => () => {
    if (name === 'triggers') return [];
    throw new Error('no code workflows here');
  },
});
