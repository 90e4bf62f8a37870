/** Measures one peer in a process of its own: `node main.ts <peer> <place as JSON>`; the last line of its output is its samples. */
import { dbos } from './dbos.ts';
import { measured, msPerStep } from './engine.ts';
import type { Engine, Order, Place } from './engine.ts';
import { openworkflow } from './openworkflow.ts';
import { restate } from './restate.ts';

const engines: Readonly<Record<string, (place: Place) => Promise<Engine>>> = { dbos, restate, openworkflow };

async function main([name = '', place = '']: readonly string[]): Promise<void> {
  const start = engines[name];
  if (start === undefined) throw new Error(`There is no peer "${name}".`);
  const engine = await start(JSON.parse(place) as Place);
  let runs = 0;
  const order = (steps: number): Order => ({ run: `run${(runs += 1)}`, steps });
  const samples = await measured(
    (steps) => msPerStep(engine, order(steps)),
    (steps) => engine.perform(order(steps)),
  );
  process.stdout.write(`${JSON.stringify(samples)}\n`);
}

main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(1);
  },
);
