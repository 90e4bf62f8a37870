import { z } from 'zod';
import type { Payload } from '@model/payload.ts';
import { paths, type RunRef } from '@model/paths.ts';
import { readDoc } from './live.ts';

const partShape = z.object({ text: z.string() });

/** The payload's JSON text; fetches its parts when it is not inline. */
export async function payloadText(run: RunRef, payload: Payload): Promise<string> {
  if (payload.json !== undefined) return payload.json;
  const ids = Array.from({ length: payload.parts ?? 0 }, (_, part) => `${payload.partsId ?? ''}~${part}`);
  const parts = await Promise.all(ids.map((id) => readDoc(paths.payload(run.accountId, run.runId, id), partShape)));
  return parts.map((part) => part?.value.text ?? '').join('');
}
