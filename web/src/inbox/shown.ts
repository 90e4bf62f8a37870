import { z } from 'zod';
import type { Json } from '@engine/json.ts';
import { agendaSchema, evidenceSchema, panelSchema, quorumSchema } from '@model/approval.ts';
import type { Agenda, ApprovalRecord, Evidence, Panel, QuorumRule } from '@model/approval.ts';

/** What the approver is shown: read from the text whose digest the decision is bound to, not from the fields beside it. */
export interface Shown {
  readonly title: string;
  readonly effect?: string | undefined;
  readonly evidence: readonly Evidence[];
  readonly form?: Json | undefined;
  readonly values?: Json | undefined;
  /** Evidence that this version of the app cannot show; nobody should decide without having seen it. */
  readonly unreadable: number;
}

const shownSchema = z.looseObject({
  title: z.string(),
  effect: z.string().nullish(),
  evidence: z.array(z.unknown()).nullish(),
  form: z.json().nullish(),
  values: z.json().nullish(),
});

export function parseShown(text: string): Shown {
  const { title, effect, evidence, form, values } = shownSchema.parse(JSON.parse(text));
  const items = (evidence ?? []).map((item) => evidenceSchema.safeParse(item));
  return {
    title,
    evidence: items.flatMap((item) => (item.success ? [item.data] : [])),
    unreadable: items.filter((item) => !item.success).length,
    ...(effect === undefined || effect === null ? {} : { effect }),
    ...(form === undefined || form === null ? {} : { form }),
    ...(values === undefined || values === null ? {} : { values }),
  };
}

/** SHA-256 of the UTF-8 text in hex, as the engine takes it. */
export async function digestOf(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export interface Rules {
  readonly panels: readonly Panel[];
  readonly quorum: QuorumRule;
  readonly agenda: Agenda | undefined;
}

/** The rules of a request, which it stores as JSON text. */
export function rulesOf(approval: Pick<ApprovalRecord, 'approvers' | 'quorum' | 'schedule'>): Rules {
  const panels = panelSchema.array().safeParse(parsed(approval.approvers));
  const quorum = quorumSchema.safeParse(parsed(approval.quorum));
  const agenda = agendaSchema.safeParse(parsed(approval.schedule));
  return {
    panels: panels.success ? panels.data : [],
    quorum: quorum.success ? quorum.data : 'any',
    agenda: agenda.success ? agenda.data : undefined,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Corrected values as they were written; undefined when they are no JSON. */
export function parsedValues(text: string): Json | undefined {
  return parsed(text) as Json | undefined;
}
