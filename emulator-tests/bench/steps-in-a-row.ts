import { defineWorkflow } from '../../functions/src/durable/api.ts';

/** As many small steps as the input says, one after the other. */
export const stepsInARow = defineWorkflow({
  id: 'steps-in-a-row',
  limits: { maxSteps: 10_000 },
  timeout: '1h',
  async run({ event, step }) {
    const { steps } = event.payload as { steps: number };
    for (let i = 0; i < steps; i += 1) await step.run('work', () => ({ index: i, text: 'a small result, as a row or an answer is' }));
  },
});
