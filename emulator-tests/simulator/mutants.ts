import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Find, Hunt } from './hunt.ts';
import type { Planted } from './planted.ts';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const FIELD = join(ROOT, '.cache', 'planted');

export interface Caught {
  readonly planted: Planted;
  /** Schedules played until it was found, or in vain. */
  readonly schedules: number;
  readonly find: Find | undefined;
}

/** A copy of the engine and the simulator with one bug in it. Returns its folder. */
export function plant({ id, file, edits }: Planted): string {
  const folder = join(FIELD, id);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'functions'), { recursive: true });
  const isCode = (path: string): boolean => !path.endsWith('.test.ts');
  cpSync(join(ROOT, 'functions', 'src'), join(folder, 'functions', 'src'), { recursive: true, filter: isCode });
  cpSync(join(ROOT, 'emulator-tests', 'simulator'), join(folder, 'emulator-tests', 'simulator'), { recursive: true, filter: isCode });
  for (const path of ['package.json', join('functions', 'package.json')]) cpSync(join(ROOT, path), join(folder, path));
  symlinkSync(join(ROOT, 'functions', 'node_modules'), join(folder, 'functions', 'node_modules'));
  const target = join(folder, 'functions', 'src', file);
  let text = readFileSync(target, 'utf8');
  for (const [find, replace] of edits) {
    const found = text.split(find).length - 1;
    if (found !== 1) throw new Error(`planted bug "${id}": its text is ${found} times in ${file}, not once: ${find}`);
    text = text.replace(find, () => replace);
  }
  writeFileSync(target, text);
  return folder;
}

/** Plays schedules against the broken copy until one of them fails. */
export async function huntOne(bug: Planted, { from, schedules }: { readonly from: number; readonly schedules: number }): Promise<Caught> {
  const folder = plant(bug);
  try {
    const hunt = await elsewhere(join(folder, 'emulator-tests', 'simulator', 'hunt.ts'), [String(from), String(schedules), 'first']);
    return { planted: bug, schedules: hunt.schedules, find: hunt.finds[0] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export interface HuntPlantedOptions {
  readonly from: number;
  readonly schedules: number;
  readonly jobs: number;
  readonly each?: (caught: Caught) => void;
}

export async function huntPlanted(
  bugs: readonly Planted[],
  { from, schedules, jobs, each }: HuntPlantedOptions,
): Promise<readonly Caught[]> {
  const left = [...bugs.entries()];
  const caught: Caught[] = [];
  const worker = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [i, bug] = next;
      const one = await huntOne(bug, { from, schedules });
      caught[i] = one;
      each?.(one);
    }
  };
  await Promise.all(Array.from({ length: jobs }, worker));
  return caught;
}

export const TABLE_HEAD = '| planted bug | what is broken | caught by | schedules |\n|---|---|---|---|';

/** A row of the table that docs/simulator.md shows. */
export function tableRow({ planted, schedules, find }: Caught): string {
  const found = find === undefined ? `**not found in ${schedules}** |` : `${find.invariant} | ${schedules}`;
  return `| \`${planted.id}\` | ${planted.bug} | ${found} |`;
}

function elsewhere(file: string, args: readonly string[]): Promise<Hunt> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    let errors = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => (out += part));
    child.stderr.setEncoding('utf8').on('data', (part: string) => (errors += part));
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve(JSON.parse(out) as Hunt);
      else reject(new Error(`${file} ended with exit code ${code ?? 'none'}: ${errors.slice(-2_000)}`));
    });
  });
}
