import type { z } from 'zod';
import type { Json } from '../engine/json.ts';
import type { AnyCodeWorkflow } from './define-workflow.ts';
import type { Trigger } from './triggers.ts';
import type { StartedBy } from '../model/run.ts';

export type ReadPayload =
  { readonly ok: true; readonly payload: unknown } | { readonly ok: false; readonly issues: readonly z.core.$ZodIssue[] };

/**
 * The payload as the workflow's trigger reads it. What a webhook or an event brought is stored as it came, and read on every replay;
 * whoever else starts a run hands in the payload as the code sees it.
 */
export function readPayload(workflow: Pick<AnyCodeWorkflow, 'trigger'>, kind: StartedBy['kind'], raw: Json): ReadPayload {
  if (kind !== 'webhook' && kind !== 'event') return { ok: true, payload: raw };
  const schemas = triggersOf(workflow).flatMap((trigger) =>
    trigger.kind === kind && trigger.payload !== undefined ? [trigger.payload] : [],
  );
  if (schemas.length === 0) return { ok: true, payload: raw };
  let issues: readonly z.core.$ZodIssue[] = [];
  for (const schema of schemas) {
    const read = schema.safeParse(raw);
    if (read.success) return { ok: true, payload: read.data };
    issues = read.error.issues;
  }
  return { ok: false, issues };
}

export function triggersOf({ trigger }: Pick<AnyCodeWorkflow, 'trigger'>): readonly Trigger<unknown>[] {
  if (trigger === undefined) return [];
  return Array.isArray(trigger) ? (trigger as readonly Trigger<unknown>[]) : [trigger as Trigger<unknown>];
}
