import { common, keys, problems, statuses } from './common.ts';
import { approval, forms, inbox } from './inbox.ts';
import { numbers, operations } from './operations.ts';
import { commands, engine, run, waiting } from './run.ts';
import { runs } from './runs.ts';
import { knowledge, recipes, workflows } from './workflows.ts';
import { shell, signIn } from './shell.ts';

export const en = {
  shell,
  signIn,
  common,
  problems,
  statuses,
  keys,
  inbox,
  approval,
  forms,
  runs,
  run,
  waiting,
  commands,
  engine,
  workflows,
  recipes,
  knowledge,
  operations,
  numbers,
} as const;

/** The same keys with any text: what another language must provide. */
type Texts<T> = T extends string
  ? string
  : T extends (...values: infer V) => infer R
    ? (...values: V) => Texts<R>
    : { readonly [K in keyof T]: Texts<T[K]> };

export type Catalogue = Texts<typeof en>;
