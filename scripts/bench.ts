/** `npm run bench [-- part …] [--json FILE] [--save]`: what a step costs and how far it is above the floor, in one run. */
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { coldstart } from '../emulator-tests/bench/coldstart.ts';
import { cost } from '../emulator-tests/bench/cost.ts';
import { approval, fanout } from '../emulator-tests/bench/spread.ts';
import { latency, slope, throughput } from '../emulator-tests/bench/time.ts';
import type { Figures, Part, PartResult } from '../emulator-tests/bench/parts.ts';
import { elsewhere } from '../emulator-tests/bench/prices.ts';
import { Installation } from '../emulator-tests/installation.ts';
import { FUNCTIONS, build } from './build/artifact.ts';
import { stopChildrenOnSignal } from './process/child.ts';
import { ROOT } from './root.ts';

const parts: Readonly<Record<string, Part>> = { cost, latency, throughput, slope, fanout, approval };

async function main(): Promise<void> {
  stopChildrenOnSignal();
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { json: { type: 'string' }, save: { type: 'boolean' } } });
  const wanted = positionals.length === 0 ? [...Object.keys(parts), 'coldstart'] : positionals;
  const unknown = wanted.filter((name) => name !== 'coldstart' && parts[name] === undefined);
  if (unknown.length > 0)
    throw new Error(`There is no part "${unknown.join('", "')}". The parts: ${[...Object.keys(parts), 'coldstart'].join(', ')}.`);
  process.env['METADATA_SERVER_DETECTION'] = 'none';
  const results: PartResult[] = [];
  if (wanted.some((name) => name !== 'coldstart')) {
    const kiln = await Installation.start({ name: 'bench', functions: new URL('../emulator-tests/bench/floor.ts', import.meta.url) });
    try {
      for (const name of wanted) {
        const part = parts[name];
        if (part === undefined) continue;
        process.stderr.write(`${name} …\n`);
        const result = await part(kiln);
        print(result);
        results.push(result);
      }
    } finally {
      await kiln.close();
    }
  }
  if (wanted.includes('coldstart')) {
    await build(FUNCTIONS);
    const result = coldstart();
    print(result);
    results.push(result);
  }
  save(results, values);
}

function print({ title, rows }: PartResult): void {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  process.stdout.write(
    `\n${title}\n${rows.map((row) => `  ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('   ')}`).join('\n')}\n`,
  );
}

function save(results: readonly PartResult[], { json, save: keep }: { json?: string | undefined; save?: boolean | undefined }): void {
  const figures: Figures = Object.assign({}, ...results.map((result) => result.figures)) as Figures;
  const date = new Date().toISOString().slice(0, 10);
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown CPU'}, Node ${process.version}`;
  if (json !== undefined) writeFileSync(json, `${JSON.stringify({ date, machine, figures }, undefined, 2)}\n`);
  if (keep !== true) return;
  const table = ({ title, rows }: PartResult): string => {
    const [head = [], ...body] = rows;
    return [
      `## ${title}`,
      '',
      `| ${head.join(' | ')} |`,
      `|${head.map(() => '---').join('|')}|`,
      ...body.map((row) => `| ${row.join(' | ')} |`),
    ].join('\n');
  };
  const others = Object.entries(elsewhere).map(([name, usd]) => `| ${name} | $${String(usd)} |`);
  const text = [
    `# Benchmarks of ${date}`,
    '',
    `Measured on ${machine}, Firestore emulator, events acknowledged at once. Ratios carry over; absolute times are this machine's.`,
    ...results.flatMap((result) => ['', table(result)]),
    '',
    '## A million steps elsewhere, published prices',
    '',
    '| service | per million |',
    '|---|---|',
    ...others,
    '',
  ].join('\n');
  writeFileSync(join(ROOT, 'docs', 'benchmarks', `${date}.md`), text);
  writeFileSync(join(ROOT, 'docs', 'benchmarks', `${date}.json`), `${JSON.stringify({ date, machine, figures }, undefined, 2)}\n`);
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(1);
  },
);
