/** What a command carries besides its reason, as the JSON text that the engine expects. Pure. */
import type { Json } from '@engine/json.ts';
import type { CommandKind } from '@model/command.ts';
import type { StepRecord } from '@model/step.ts';

export interface CommandChoices {
  /** A step's input, a fork's input. */
  readonly input?: Json | undefined;
  readonly output?: Json | undefined;
  /** Of the event that counts as received. */
  readonly payload?: Json | undefined;
  readonly until?: number | undefined;
  readonly version?: number | undefined;
  readonly outcome?: 'succeeded' | 'failed';
  /** A cancelled run is undone as well. */
  readonly compensate?: boolean;
}

export type Need = keyof CommandChoices;

/** What the form asks for. */
export function needsOf(kind: CommandKind, wait: StepRecord['wait']): readonly Need[] {
  switch (kind) {
    case 'cancel':
      return ['compensate'];
    case 'retry':
      return ['input'];
    case 'skip':
      return ['output'];
    case 'override_wait':
      return wait?.kind === 'event' ? ['payload'] : [];
    case 'extend_deadline':
      return ['until'];
    case 'fork':
      return ['version', 'input'];
    case 'resolve':
      return ['outcome', 'output'];
    case 'pause':
    case 'resume':
    case 'compensate':
    case 'accept_mismatch':
      return [];
  }
}

export function argumentOf(needs: readonly Need[], choices: CommandChoices): string | undefined {
  const outcome = needs.includes('outcome') ? (choices.outcome ?? 'succeeded') : undefined;
  const all: Readonly<Record<Need, unknown>> = {
    input: choices.input,
    // Nobody supplies the output of what did not happen.
    output: outcome === 'failed' ? undefined : choices.output,
    payload: choices.payload ?? null,
    until: choices.until === undefined ? undefined : new Date(choices.until).toISOString(),
    version: choices.version,
    outcome,
    compensate: choices.compensate === true ? true : undefined,
  };
  const chosen = needs.flatMap((need) => (all[need] === undefined ? [] : [[need, all[need]] as const]));
  return chosen.length === 0 ? undefined : JSON.stringify(Object.fromEntries(chosen));
}
