import { z } from 'zod';
import { BusinessException } from '../model/errors.ts';
import type { ComputeStepType } from './step-type.ts';

const schema = z.strictObject({
  type: z.literal('fail'),
  /** The code that `onException` paths are named after. */
  code: z.string().min(1).max(100),
  message: z.string().max(2_000).optional(),
  data: z.json().optional(),
});

export const fail: ComputeStepType<z.infer<typeof schema>> = {
  type: 'fail',
  title: 'Fail',
  description: 'Ends this path with a named business exception.',
  kind: 'compute',
  schema,
  compute: ({ config }) => {
    throw new BusinessException(config.code, config.data, config.message ?? config.code);
  },
};
