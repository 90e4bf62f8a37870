import { z } from 'zod';
import type { ComputeStepType } from './step-type.ts';

const schema = z.strictObject({
  type: z.literal('transform'),
  /** Any JSON with templates; what it fills in to is the output. */
  value: z.json(),
});

export const transform: ComputeStepType<z.infer<typeof schema>> = {
  type: 'transform',
  title: 'Transform',
  description: 'Builds a value from earlier results.',
  kind: 'compute',
  schema,
  compute: ({ config }) => config.value,
};
