import type { Command } from 'commander';
import { connect } from './connect.ts';
import type { Session } from './connect.ts';
import { DEMO_PASSWORD } from './people.ts';

/** Options that stand before the command. */
export interface Globals {
  readonly project: string;
  readonly region: string;
  readonly account: string;
  readonly as?: string;
  readonly apiKey: string;
}

export function globalsOf(program: Command): Globals {
  return program.opts<Globals>();
}

/** Signs in. On a demo project without `--as`, as the demo person who may do this. */
export async function openSession(program: Command, demoPerson: string): Promise<{ session: Session; account: string }> {
  const { project, region, account, as, apiKey } = globalsOf(program);
  const demo = project.startsWith('demo-');
  const email = as ?? (demo ? demoPerson : undefined);
  if (email === undefined) throw new Error('Say who you are: --as you@example.com, with your password in KILN_PASSWORD.');
  const password = process.env['KILN_PASSWORD'] ?? (demo ? DEMO_PASSWORD : undefined);
  if (password === undefined) throw new Error('Put your password into KILN_PASSWORD.');
  return { session: await connect({ project, region, email, password, apiKey }), account };
}

export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
