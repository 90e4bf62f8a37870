import { createHash } from 'node:crypto';
import type { ScriptedFaults } from '../scripted-faults.ts';

export const modelFaultKinds = [
  '400',
  '401',
  '429',
  '500',
  '503',
  'timeout',
  'slow',
  'refusal',
  'truncated',
  'invalid-json',
  'wrong-schema',
  'drop',
] as const;
export type ModelFaultKind = (typeof modelFaultKinds)[number];

export interface ModelFault {
  readonly kind: ModelFaultKind;
  readonly retryAfterSeconds: number;
}

function isKind(text: string): text is ModelFaultKind {
  return (modelFaultKinds as readonly string[]).includes(text);
}

/**
 * Which fault a call meets: the header `x-kiln-fault: 429`, else a marker in the prompt, else the queue.
 * `[[fault:429]]` always fails; `[[fault:429*2]]` fails the first two calls with that prompt and then lets it pass.
 */
export class FaultChooser {
  readonly #scripted: ScriptedFaults;
  /** Calls seen per prompt with a counted marker. Kept small: only marked prompts are in it. */
  readonly #seen = new Map<string, number>();

  constructor(scripted: ScriptedFaults) {
    this.#scripted = scripted;
  }

  choose(header: string | undefined, prompt: string): ModelFault | undefined {
    if (header !== undefined && isKind(header)) return { kind: header, retryAfterSeconds: 1 };
    const marked = this.#fromMarker(prompt);
    if (marked !== undefined) return marked;
    const queued = this.#scripted.take(prompt);
    if (queued === undefined || !isKind(queued.kind)) return undefined;
    return { kind: queued.kind, retryAfterSeconds: queued.retryAfterSeconds ?? 1 };
  }

  #fromMarker(prompt: string): ModelFault | undefined {
    const marker = /\[\[fault:([a-z0-9-]+)(?:\*(\d{1,3}))?\]\]/.exec(prompt);
    const kind = marker?.[1];
    if (kind === undefined || !isKind(kind)) return undefined;
    if (marker?.[2] !== undefined) {
      const key = createHash('sha256').update(prompt).digest('base64url');
      const calls = (this.#seen.get(key) ?? 0) + 1;
      this.#seen.set(key, calls);
      if (calls > Number(marker[2])) return undefined;
    }
    return { kind, retryAfterSeconds: 1 };
  }
}
