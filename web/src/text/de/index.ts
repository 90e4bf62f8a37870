import type { Catalogue } from '../en/index.ts';
import { common, keys, problems, statuses } from './common.ts';
import { sayInGerman } from './engine.ts';
import { approval, forms, inbox } from './inbox.ts';
import { numbers, operations } from './operations.ts';
import { commands, run, runs, waiting } from './runs.ts';
import { shell, signIn } from './shell.ts';
import { knowledge, recipes, workflows } from './workflows.ts';

export const de: Catalogue = {
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
  engine: { say: sayInGerman },
  workflows,
  recipes,
  knowledge,
  operations,
  numbers,
};
