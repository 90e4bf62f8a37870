import { z } from 'zod';
import { KilnError } from '../model/errors.ts';
import type { EffectStepType, StepServices } from './step-type.ts';

const schema = z.strictObject({
  type: z.literal('action'),
  /** The name of a registered action. */
  action: z.string().min(1).max(100),
});
type Config = z.infer<typeof schema>;

export const action: EffectStepType<Config> = {
  type: 'action',
  title: 'Action',
  description: 'Calls a function of the team’s own code, with checked input and output.',
  kind: 'effect',
  schema,
  idempotent: false,
  isIdempotent: (config, services: StepServices) => {
    const found = 'action' in config && typeof config.action === 'string' ? services.actions.find(config.action) : undefined;
    return found?.idempotent === true || found?.readOnly === true;
  },
  preflight: (config, { services, place }) =>
    services.actions.find(config.action) === undefined
      ? [
          {
            path: `${place.path}.action`,
            code: 'step.action_unknown',
            message: `no action named "${config.action}" is registered; known: ${services.actions.names().join(', ') || 'none'}`,
          },
        ]
      : [],
  async perform({ config, input, services, idempotencyKey, attempt, signal, run }) {
    const found = services.actions.get(config.action);
    const parsed = found.input.safeParse(input);
    if (!parsed.success)
      throw new KilnError('schema.mismatch', `the input of action "${config.action}" does not fit: ${z.prettifyError(parsed.error)}`);
    const result = await found.run(parsed.data, { idempotencyKey, attempt, signal, runId: run.runId, accountId: run.accountId });
    const output = found.output.safeParse(result);
    if (!output.success)
      throw new KilnError('schema.mismatch', `the output of action "${config.action}" does not fit: ${z.prettifyError(output.error)}`);
    return { output: output.data };
  },
};
