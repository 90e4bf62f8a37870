import { KilnError } from '../model/errors.ts';
import type { Definitions, PinnedVersion } from './runtime.ts';

/** Whether a run's input is for operators only. What the version says cannot be known when there is no such version. */
export async function inputSecrecy(
  definitions: Definitions,
  { accountId, workflowId }: { readonly accountId: string; readonly workflowId: string },
  { kind, version }: Pick<PinnedVersion, 'kind' | 'version'>,
): Promise<'input' | undefined> {
  if (kind === 'code') return undefined;
  try {
    const { definition } = await definitions.get(accountId, workflowId, version);
    return (definition.sensitive ?? []).length > 0 ? 'input' : undefined;
  } catch (error) {
    if (error instanceof KilnError) return 'input';
    throw error;
  }
}
