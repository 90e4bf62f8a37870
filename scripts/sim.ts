/**
 * `npm run sim -- --schedules 1000`: plays random schedules of random workflows against the engine, with faults between any two
 * operations. `--seed 4711 --trace` shows one of them in words; `--planted` shows that deliberately broken engines are caught.
 */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { faultNames, operationNames } from '../emulator-tests/simulator/faults.ts';
import { together } from '../emulator-tests/simulator/hunt.ts';
import type { Hunt } from '../emulator-tests/simulator/hunt.ts';
import { huntPlanted, TABLE_HEAD, tableRow } from '../emulator-tests/simulator/mutants.ts';
import { planted } from '../emulator-tests/simulator/planted.ts';
import { shrink } from '../emulator-tests/simulator/shrink.ts';
import { runSeed } from '../emulator-tests/simulator/simulate.ts';
import { ROOT } from './root.ts';

/** From so many schedules on, whatever never happened means that the simulator does not see it. */
const ALL_KINDS_FROM = 500;
/** Schedules that one process plays: its start costs as much as about fifty. */
const CHUNK = 1_000;

interface Options {
  readonly schedules: number;
  readonly seed: number;
  readonly trace: boolean;
  readonly jobs: number;
  readonly planted: boolean;
  readonly only?: string;
}

function whole(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('a whole number is needed');
  return Number(text);
}

const {
  schedules,
  seed,
  trace,
  jobs,
  planted: withPlanted,
  only,
} = new Command('sim')
  .option('--schedules <n>', 'how many schedules, with rising seeds', whole, 1_000)
  .option('--seed <n>', 'the first seed', whole, 1)
  .option('--trace', 'show the schedule of the seed in words, made smaller if it fails', false)
  .option('--jobs <n>', 'processes at once', whole, availableParallelism())
  .option('--planted', 'hunt each planted bug instead', false)
  .option('--only <ids>', 'of the planted bugs only these, separated by commas')
  .parse()
  .opts<Options>();

if (withPlanted) await showPlanted();
else if (trace) await showTrace();
else await play();

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function showTrace(): Promise<void> {
  const first = await runSeed(seed, { tracing: true });
  const shrunk = first.failure === undefined ? undefined : await shrink(seed);
  const { result, without } = shrunk ?? { result: first, without: [] };
  say(`seed ${result.seed}, hash ${result.hash}, ${result.operations} operations, ${result.deliveries} deliveries`);
  say(`faults: ${JSON.stringify(result.faults)}`);
  say(`scenario: ${JSON.stringify(result.scenario, undefined, 1)}`);
  say(result.trace.join('\n'));
  if (without.length > 0) say(`left out: ${without.join(', ')}`);
  if (result.failure === undefined) return;
  say(`VIOLATION ${result.failure.message}`);
  process.exitCode = 1;
}

async function play(): Promise<void> {
  const started = performance.now();
  const size = Math.min(CHUNK, Math.ceil(schedules / jobs));
  const chunks = Array.from({ length: Math.ceil(schedules / size) }, (_, i) => ({
    from: seed + i * size,
    count: Math.min(size, schedules - i * size),
  }));
  const hunts: Hunt[] = [];
  await Promise.all(
    Array.from({ length: jobs }, async () => {
      for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) {
        const hunt = await huntElsewhere(chunk.from, chunk.count);
        hunts.push(hunt);
        const played = hunts.reduce((sum, one) => sum + one.schedules, 0);
        process.stderr.write(`${played} of ${schedules} schedules\n${hunt.finds.map((find) => `${violation(find)}\n`).join('')}`);
      }
    }),
  );
  const { hunt, counters } = together(hunts);
  const seconds = (performance.now() - started) / 1_000;
  say(
    `${hunt.schedules} schedules in ${seconds.toFixed(1)} s (${(hunt.schedules / seconds).toFixed(1)} a second), ${hunt.operations} operations, ${hunt.deliveries} deliveries`,
  );
  say('\nfaults');
  for (const name of faultNames) say(`${String(counters.faults.get(name) ?? 0).padStart(10)}  ${name}`);
  say('\noperations that succeeded');
  for (const name of operationNames) say(`${String(counters.operations.get(name) ?? 0).padStart(10)}  ${name}`);
  const missing = hunt.schedules >= ALL_KINDS_FROM ? counters.missing() : [];
  for (const name of missing) say(`NEVER HAPPENED: ${name}`);
  for (const find of hunt.finds) say(violation(find));
  if (missing.length > 0 || hunt.finds.length > 0) process.exitCode = 1;
}

function violation({ seed: at, message }: Hunt['finds'][number]): string {
  return `VIOLATION at seed ${at} (npm run sim -- --seed ${at} --trace): ${message}`;
}

function huntElsewhere(from: number, count: number): Promise<Hunt> {
  const file = join(ROOT, 'emulator-tests', 'simulator', 'hunt.ts');
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [file, String(from), String(count)], { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => (text += part));
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve(JSON.parse(text) as Hunt);
      else reject(new Error(`the schedules from seed ${from} on ended with exit code ${code ?? 'none'}`));
    });
  });
}

async function showPlanted(): Promise<void> {
  say(TABLE_HEAD);
  const wanted = only === undefined ? planted : planted.filter(({ id }) => only.split(',').includes(id));
  const caught = await huntPlanted(wanted, { from: seed, schedules, jobs, each: (one) => say(tableRow(one)) });
  if (caught.some(({ find }) => find === undefined)) process.exitCode = 1;
}
