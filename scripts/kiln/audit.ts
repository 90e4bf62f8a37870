import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { collection, doc, getDoc, getDocs, limit, orderBy, query, where } from 'firebase/firestore';
import pc from 'picocolors';
import { exportHistory, headOf, verifyHistory } from '../../functions/src/ledger/history.ts';
import type { KnownHead, Verification } from '../../functions/src/ledger/history.ts';
import { paths } from '../../functions/src/model/paths.ts';
import type { Session } from './connect.ts';
import { openSession, say } from './globals.ts';

const ADMIN = 'admin@demo.kiln';
const OPERATOR = 'operator@demo.kiln';
/** The rules allow no longer list. */
const PAGE = 500;

interface Options {
  readonly run?: string;
  readonly against?: string;
  readonly out?: string;
}

interface Chain {
  readonly entries: readonly object[];
  /** Where the database says that the chain ends. */
  readonly head: KnownHead | undefined;
}

/** Checks and exports what was written down of an account or a run: read under the rules and judged here, not by the server. */
export function addAuditCommands(program: Command): void {
  const audit = program.command('audit').description('check and export the audit log of the account, or the history of a run');
  audit
    .command('verify')
    .description('check the chain of hashes from end to end; a changed, missing or added entry is named')
    .option('--run <id>', 'the history of this run instead of the audit log')
    .option('--against <file>', 'an earlier export: its entries must all be there still')
    .action(async (options: Options) => {
      const verdict = await verifyChain(await openChain(program, options), options.against);
      say(verdictText(verdict));
      if (!verdict.ok) process.exitCode = 1;
    });
  audit
    .command('export')
    .description('write the entries as JSON Lines, as they are stored')
    .option('--run <id>', 'the history of this run instead of the audit log')
    .option('--out <file>', 'a file that is not there yet; otherwise they are printed')
    .action(async (options: Options) => {
      const { entries } = await readChain(await openChain(program, options));
      const text = exportHistory(entries);
      if (options.out === undefined) process.stdout.write(text);
      else {
        writeFileSync(options.out, text, { flag: 'wx' });
        say(`${entries.length} entries in ${options.out}`);
      }
    });
}

interface Place {
  readonly session: Pick<Session, 'db'>;
  readonly path: string;
}

async function openChain(program: Command, { run, against }: Options): Promise<Place> {
  if (against !== undefined && !existsSync(against)) throw new Error(`There is no file "${against}".`);
  const { session, account } = await openSession(program, run === undefined ? ADMIN : OPERATOR);
  return { session, path: run === undefined ? paths.audit(account) : paths.historyOf(account, run) };
}

/** The head first: entries that are appended meanwhile lie after it. */
export async function readChain({ session: { db }, path }: Place): Promise<Chain> {
  const head = headOf((await getDoc(doc(db, path, 'head'))).data());
  const entries: object[] = [];
  for (let after = 0; ;) {
    const page = await getDocs(query(collection(db, path), where('n', '>', after), orderBy('n'), limit(PAGE)));
    entries.push(...page.docs.map((entry) => entry.data()));
    const last: unknown = page.docs.at(-1)?.data()['n'];
    if (page.size < PAGE || typeof last !== 'number') return { entries, head };
    after = last;
  }
}

/** Both ends must hold: the one that the database names, and the one of the export that somebody kept. */
export async function verifyChain(place: Place, against?: string): Promise<Verification> {
  const { entries, head } = await readChain(place);
  const verdict = verifyHistory(entries, head);
  if (!verdict.ok || against === undefined) return verdict;
  const lines = readFileSync(against, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  const kept = lines.map((line) => JSON.parse(line) as object);
  const file = verifyHistory(kept);
  if (!file.ok) return { ...file, problem: `in ${against}, ${file.problem}` };
  return kept.length === 0 ? verdict : verifyHistory(entries, { n: kept.length, hash: file.head });
}

function verdictText(verdict: Verification): string {
  return verdict.ok
    ? pc.green(`the chain holds: ${verdict.entries} entries, the last one's hash is ${verdict.head}`)
    : pc.red(`the chain is broken at entry ${verdict.n}: ${verdict.problem}`);
}
