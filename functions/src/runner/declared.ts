import { indexDefinition } from '../engine/definition-index.ts';
import type { DefinitionIndex } from '../engine/definition-index.ts';
import type { Definition } from '../model/definition.ts';
import { KilnError } from '../model/errors.ts';
import type { RunRecord } from '../model/run.ts';
import type { Runtime } from './runtime.ts';

/** What a workflow of either kind declares about its runs as a whole. */
export type Declared = Pick<
  Definition,
  'name' | 'owner' | 'states' | 'alerts' | 'reconcile' | 'destinations' | 'onError' | 'concurrency' | 'rateLimit' | 'guardTainted'
>;

export interface DeclaredWorkflow {
  readonly declared: Declared;
  /** Of a code workflow, one without steps: nothing refers to them from outside. */
  readonly index: DefinitionIndex;
}

/** Undefined when the version is gone: what depends on it then has its default. */
export async function declaredOf(
  runtime: Pick<Runtime, 'definitions' | 'code'>,
  run: Pick<RunRecord, 'accountId' | 'kind' | 'workflowId' | 'version'>,
): Promise<DeclaredWorkflow | undefined> {
  if (run.kind === 'code') {
    const declared = runtime.code.declared(run.workflowId, run.version);
    return declared === undefined ? undefined : { declared, index: indexDefinition({ id: run.workflowId, steps: [] }) };
  }
  try {
    const index = await runtime.definitions.get(run.accountId, run.workflowId, run.version);
    return { declared: index.definition, index };
  } catch (error) {
    if (error instanceof KilnError) return undefined;
    throw error;
  }
}
