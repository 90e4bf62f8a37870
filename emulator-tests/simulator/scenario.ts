import type { Definition } from '../../functions/src/model/definition.ts';
import { generateDefinition } from './generate.ts';
import { generateProgram } from './programs.ts';
import type { Program } from './programs.ts';
import type { SeededRandom } from './random.ts';

/** A run that somebody will ask for. */
export interface Wish {
  readonly accountId: string;
  readonly workflowId: string;
  readonly runId: string;
  readonly input: { readonly n: number; readonly text: string; readonly items: readonly number[] };
}

/** What happens in one schedule, apart from when and with what luck. */
export interface Scenario {
  /** No race decides the outcome: an oracle can tell it. */
  readonly deterministic: boolean;
  readonly accounts: readonly string[];
  readonly definitions: readonly Definition[];
  readonly programs: readonly Program[];
  readonly wishes: readonly Wish[];
  readonly onError: 'compensate' | 'fail';
  readonly halts: boolean;
  /** Tasks and triggers all come, if late or twice: then every timer is rung by its doorbell, and the reconciler has nothing to do. */
  readonly punctual: boolean;
}

export function drawScenario(random: SeededRandom): Scenario {
  const deterministic = random.chance(0.35);
  const definitions: Definition[] = [];
  const programs: Program[] = [];
  const draw = (id: string, children: readonly string[], small: boolean): void => {
    if (random.chance(0.5)) definitions.push(generateDefinition(id, random, { deterministic, children, small }));
    else programs.push(generateProgram(id, random, { deterministic, children, small }));
  };
  draw('child', [], true);
  draw('main', ['child'], false);
  if (random.chance(0.3)) draw('other', ['child'], true);
  const accounts = random.chance(0.4) ? ['acme', 'beta'] : ['acme'];
  const startable = [...definitions, ...programs].map(({ id }) => id).filter((id) => id !== 'child');
  const wishes = accounts.flatMap((accountId) =>
    Array.from({ length: 1 + random.int(2) }, (_, i): Wish => ({
      accountId,
      workflowId: random.pick(startable),
      // The same ids in every account.
      runId: `run${i}`,
      input: {
        n: random.int(6),
        text: random.pick(['x', 'y', '{{workflow_input.n}}']),
        items: Array.from({ length: random.int(5) }, (_v, n) => n * 10),
      },
    })),
  );
  const punctual = random.chance(0.2);
  const halts = !punctual && random.chance(0.12);
  return { deterministic, accounts, definitions, programs, wishes, onError: random.pick(['compensate', 'fail']), halts, punctual };
}
