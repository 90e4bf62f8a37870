import { createHash } from 'node:crypto';

/**
 * A number in [0, 1) that depends on the seed and the parts only. Faults are drawn by key ("this task, this attempt"),
 * not from a running sequence, so that the same seed does the same thing whatever order messages arrive in.
 */
export function keyedRandom(seed: string, ...parts: readonly (string | number)[]): number {
  const digest = createHash('sha256')
    .update(JSON.stringify([seed, ...parts]))
    .digest();
  return digest.readUIntBE(0, 6) / 2 ** 48;
}
