/**
 * `npm run bench [-- part …] [--json FILE] [--save]`: what a step costs and how far it is above the floor, in one run. A saved run of
 * named parts has their names.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { coldstart } from '../emulator-tests/bench/coldstart.ts';
import { cost } from '../emulator-tests/bench/cost.ts';
import { approval, fanout } from '../emulator-tests/bench/spread.ts';
import { stock } from '../emulator-tests/bench/stock.ts';
import { latency, slope, throughput } from '../emulator-tests/bench/time.ts';
import type { Figures, Part, PartResult } from '../emulator-tests/bench/parts.ts';
import { elsewhere } from '../emulator-tests/bench/prices.ts';
import { web } from '../emulator-tests/bench/web.ts';
import { Installation } from '../emulator-tests/installation.ts';
import { FUNCTIONS, build } from './build/artifact.ts';
import { peers } from './peers.ts';
import { stopChildrenOnSignal } from './process/child.ts';
import { ROOT } from './root.ts';

/** Parts that take an installation on the host that acknowledges at once. */
const parts: Readonly<Record<string, Part>> = { cost, latency, throughput, slope, fanout, approval, peers };
/**
 * Calls at once, of two instances as they are deployed. With any number, the emulator soon does nothing but look through the commits
 * that wait for locks, all of them for each that comes.
 */
const CONCURRENCY = 80;
/** Peers are installed from the network: they are measured only when named. */
const NAMED_ONLY = 'peers';
const others: Readonly<Record<string, () => PartResult | Promise<PartResult>>> = {
  stock,
  coldstart: async () => {
    await build(FUNCTIONS);
    return coldstart();
  },
  web,
};

async function main(): Promise<void> {
  stopChildrenOnSignal();
  const options = { json: { type: 'string' }, save: { type: 'boolean' }, alone: { type: 'boolean' } } as const;
  const { values, positionals } = parseArgs({ allowPositionals: true, options });
  const all = [...Object.keys(parts), ...Object.keys(others)];
  const wanted = positionals.length === 0 ? all.filter((name) => name !== NAMED_ONLY) : positionals;
  const unknown = wanted.filter((name) => !all.includes(name));
  if (unknown.length > 0) throw new Error(`There is no part "${unknown.join('", "')}". The parts: ${all.join(', ')}.`);
  process.env['METADATA_SERVER_DETECTION'] = 'none';
  if (values.alone === true) return alone(wanted[0] ?? '');
  const results: PartResult[] = [];
  const keep = (result: PartResult): void => {
    print(result);
    results.push(result);
  };
  for (const name of wanted) {
    process.stderr.write(`${name} …\n`);
    const part = parts[name];
    const other = others[name];
    try {
      if (part !== undefined) keep(await inOwnProcess(name));
      else if (other !== undefined) keep(await other());
    } catch (error) {
      // What has been measured until then, and what comes after it, is not lost.
      process.exitCode = 1;
      keep({ title: `Not measured: ${name}`, rows: [], figures: {}, notes: [error instanceof Error ? error.message : String(error)] });
    }
  }
  save(results, values, positionals);
}

/** The functions stay with the emulator that they first met, and an emulator keeps all it was ever given: each part has its own. */
async function inOwnProcess(name: string): Promise<PartResult> {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), '--alone', name], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`it ended with exit code ${code ?? 'none'}`);
  return JSON.parse(text.trim().split('\n').at(-1) ?? '') as PartResult;
}

/** The result is the last line of what is printed: the functions log before it. */
async function alone(name: string): Promise<void> {
  const part = parts[name];
  if (part === undefined) throw new Error(`"${name}" does not run alone`);
  const functions = new URL('../emulator-tests/bench/floor.ts', import.meta.url);
  const kiln = await Installation.start({ name: 'bench', functions, concurrency: CONCURRENCY });
  try {
    const result = await part(kiln);
    process.stdout.write(`${JSON.stringify(result)}\n`);
  } finally {
    await kiln.close();
  }
}

function print({ title, rows, notes = [] }: PartResult): void {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  process.stdout.write(
    `\n${title}\n${rows.map((row) => `  ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('   ')}`).join('\n')}\n${notes.map((note) => `\n  ${note}\n`).join('')}`,
  );
}

function save(
  results: readonly PartResult[],
  { json, save: keep }: { json?: string | undefined; save?: boolean | undefined },
  named: readonly string[],
): void {
  const figures: Figures = Object.assign({}, ...results.map((result) => result.figures)) as Figures;
  const date = new Date().toISOString().slice(0, 10);
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown CPU'}, ${Math.round(totalmem() / 2 ** 30)} GiB`;
  const forMachines = `${JSON.stringify({ date, machine, versions: versions(), figures }, undefined, 2)}\n`;
  if (json !== undefined) writeFileSync(json, forMachines);
  if (keep !== true) return;
  const table = ({ title, rows, notes = [] }: PartResult): string => {
    const [head, ...body] = rows;
    if (head === undefined) return [`## ${title}`, ...notes.flatMap((note) => ['', note])].join('\n');
    return [
      `## ${title}`,
      '',
      `| ${head.join(' | ')} |`,
      `|${head.map(() => '---').join('|')}|`,
      ...body.map((row) => `| ${row.join(' | ')} |`),
      ...notes.flatMap((note) => ['', note]),
    ].join('\n');
  };
  const published = Object.entries(elsewhere).map(([name, usd]) => `| ${name} | $${String(usd)} |`);
  const text = [
    `# Benchmarks of ${date}`,
    '',
    `Measured in one run on ${machine}, with the Firestore emulator, events acknowledged at once and handled ${CONCURRENCY} at a time. Ratios to the floor carry over; absolute times are this machine's.`,
    '',
    `Versions: ${Object.entries(versions())
      .map(([name, version]) => `${name} ${version}`)
      .join(', ')}.`,
    ...results.flatMap((result) => ['', table(result)]),
    '',
    '## A million steps elsewhere, published prices',
    '',
    '| service | per million |',
    '|---|---|',
    ...published,
    '',
  ].join('\n');
  const file = join(ROOT, 'docs', 'benchmarks', [date, ...named].join('-'));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.md`, text);
  writeFileSync(`${file}.json`, forMachines);
}

/** Of what the figures depend on. */
function versions(): Readonly<Record<string, string>> {
  const packages = ['functions/node_modules/firebase-functions', 'functions/node_modules/firebase-admin', 'node_modules/firebase-tools'];
  const installed = packages.map((folder): [string, string] => {
    const { name, version } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as { name: string; version: string };
    return [name, version];
  });
  return { node: process.versions.node, ...Object.fromEntries(installed) };
}

main().then(
  () => process.exit(),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(1);
  },
);
