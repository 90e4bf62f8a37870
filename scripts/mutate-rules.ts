/**
 * Changes `firestore.rules` in small ways and runs the rules' cases against each change. A change that no case notices is a hole
 * in the tests, unless it is explained in `rules/survivors.ts`. Takes some minutes: `node scripts/mutate-rules.ts [part/of]`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cases } from '../emulator-tests/rules/cases.ts';
import type { Case } from '../emulator-tests/rules/case.ts';
import { RulesClient } from '../emulator-tests/rules/client.ts';
import { build } from '../emulator-tests/rules/world.ts';
import { startFirestoreEmulator } from './emulator/firestore.ts';
import { stopChildrenOnSignal } from './process/child.ts';
import { ROOT } from './root.ts';
import { mutantsOf } from './rules/mutants.ts';
import type { Mutant } from './rules/mutants.ts';
import { explained } from './rules/survivors.ts';

const AT_ONCE = 6;
const TRIES = 3;

type Fate = 'killed' | 'survived' | 'invalid';

/** Where functions of the rules are used. */
const functionsOf: Readonly<Record<string, string>> = {
  validRequest: 'requests',
  validEvent: 'events',
  validPayload: 'events',
  validCommand: 'commands',
  asked: 'payloads',
  request_: 'decisions',
  readable: 'decisions',
  validDecision: 'decisions',
  mayDecide: 'decisions',
  allowed: 'decisions',
};

stopChildrenOnSignal();
const source = readFileSync(join(ROOT, 'firestore.rules'), 'utf8');
const [part = 1, of = 1] = (process.argv[2] ?? '1/1').split('/').map(Number);
const mutants = mutantsOf(source).filter((_, i) => i % of === part - 1);
const emulator = await startFirestoreEmulator();
try {
  const client = new RulesClient(emulator.host, 'demo-kiln-mutants');
  await client.loadRules(source);
  await build(client);
  await expectSound(client);
  const fates = new Map<Fate, Mutant[]>([
    ['killed', []],
    ['survived', []],
    ['invalid', []],
  ]);
  // Small requests first: most mutants die of one.
  const order = [...cases].sort((a, b) => weight(a) - weight(b));
  let last: Case | undefined;
  let done = 0;
  for (const mutant of mutants) {
    const { fate, by } = await fateOf(client, mutant, [...(last === undefined ? [] : [last]), ...likelyFirst(mutant, order)]);
    last = by;
    fates.get(fate)?.push(mutant);
    done += 1;
    if (done % 20 === 0) process.stderr.write(`${done} of ${mutants.length}\n`);
  }
  await client.loadRules(source);
  await build(client);
  // Again at the end: cases that have gone stale meanwhile would have killed every mutant.
  await expectSound(client);
  report(fates);
} finally {
  await emulator.stop();
}

function weight({ request }: Case): number {
  return Math.round(JSON.stringify(request).length / 1_000);
}

/** Cases about the collection that the change is in, before the others. */
function likelyFirst({ name }: Mutant, order: readonly Case[]): readonly Case[] {
  const block = name.slice(0, name.indexOf(' | '));
  const word = /^\/(\w+)\//.exec(block)?.[1] ?? functionsOf[block];
  if (word === undefined) return order;
  const about = (one: Case): boolean => one.request.path.includes(word);
  return [...order.filter(about), ...order.filter((one) => !about(one))];
}

async function expectSound(client: RulesClient): Promise<void> {
  const wrong = await firstWrong(client, cases);
  if (wrong !== undefined) throw new Error(`the rules themselves fail: ${wrong.name}`);
}

async function fateOf(client: RulesClient, mutant: Mutant, order: readonly Case[]): Promise<{ fate: Fate; by?: Case }> {
  try {
    await client.loadRules(mutant.source);
  } catch {
    return { fate: 'invalid' };
  }
  const by = await firstWrong(client, order);
  if (by === undefined) return { fate: 'survived' };
  // What the mutant wrongly allowed may have changed the world.
  if (by.request.verb === 'update' || by.request.verb === 'delete') await build(client);
  return { fate: 'killed', by };
}

async function firstWrong(client: RulesClient, order: readonly Case[]): Promise<Case | undefined> {
  for (let i = 0; i < order.length; i += AT_ONCE) {
    const batch = order.slice(i, i + AT_ONCE);
    // Cases of one document stay apart: two creations of it at once would answer for each other.
    const paths = new Set(batch.map(({ request }) => request.path));
    // An error that is no answer of the rules ends the run: it must not pass for a mutant that was noticed.
    const check = async (one: Case): Promise<boolean> => (await patiently(() => client.answer(one.as, one.request))) === one.allow;
    const right: boolean[] = [];
    if (paths.size === batch.length) right.push(...(await Promise.all(batch.map(check))));
    else for (const one of batch) right.push(await check(one));
    const position = right.indexOf(false);
    if (position >= 0) return batch[position];
  }
  return undefined;
}

/** A busy emulator now and then breaks a connection off. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (tries === TRIES) throw error;
    }
  }
}

function report(fates: ReadonlyMap<Fate, readonly Mutant[]>): void {
  const survivors = fates.get('survived') ?? [];
  const unexplained = survivors.filter(({ name }) => !explained.some(({ pattern }) => pattern.test(name)));
  const count = (fate: Fate): number => fates.get(fate)?.length ?? 0;
  process.stdout.write(
    `${mutants.length} mutants: ${count('killed')} killed, ${survivors.length} survived, ${count('invalid')} not valid rules\n`,
  );
  for (const { name } of survivors) {
    const reason = explained.find(({ pattern }) => pattern.test(name))?.reason;
    process.stdout.write(
      `${reason === undefined ? 'UNEXPLAINED' : 'explained'}  ${name}${reason === undefined ? '' : `\n           ${reason}`}\n`,
    );
  }
  if (unexplained.length > 0) process.exitCode = 1;
}
