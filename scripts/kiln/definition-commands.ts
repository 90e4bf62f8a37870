import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { collection, doc, documentId, getDoc, getDocs, limit, orderBy, query, startAfter } from 'firebase/firestore';
import type { QueryConstraint } from 'firebase/firestore';
import pc from 'picocolors';
import { asObject, asString, objectsIn } from '../json-objects.ts';
import type { Session } from './connect.ts';
import { changesOf, readDefinitions, writeDefinitions } from './definition-files.ts';
import type { Change, DefinitionText } from './definition-files.ts';
import { openSession, say } from './globals.ts';
import { knowledgeFile, knowledgeOf, readKnowledge, writeKnowledge } from './knowledge-files.ts';
import type { KnowledgeText } from './knowledge-files.ts';
import { diffLines } from './text-diff.ts';

const AUTHOR = 'operator@demo.kiln';
/** The rules allow no longer list. */
const PAGE = 100;

/** What is published in versions, by the name of its collection and folder. */
const published = {
  workflows: { publish: 'publish', field: 'definition', check: 'preflight' },
  recipes: { publish: 'recipes.publish', field: 'recipe', check: undefined },
} as const;
type Published = keyof typeof published;
type Kind = Published | 'kb';

interface Me {
  readonly session: Session;
  readonly account: string;
}

interface Options {
  readonly dir: string;
  readonly only: string;
  readonly note?: string;
  readonly dryRun?: boolean;
}

/** Definitions as files, so that a team keeps them in git. */
export function addDefinitionCommands(program: Command): void {
  const withPlace = (command: Command): Command =>
    command
      .option('--dir <folder>', 'where the folders workflows, recipes and kb are', 'definitions')
      .option('--only <kinds>', 'of workflows, recipes and kb', 'workflows,recipes');

  withPlace(program.command('pull').description('write what is published to files: workflows, recipes, knowledge')).action(
    async ({ dir, only }: Options) => {
      const kinds = kindsOf(only);
      const me = await openSession(program, AUTHOR);
      for (const kind of kinds) {
        const folder = join(dir, kind);
        const written =
          kind === 'kb'
            ? writeKnowledge(folder, await readStoredKnowledge(me))
            : writeDefinitions(folder, await readPublished(me.session, me.account, kind));
        say(written.length === 0 ? pc.dim(`${folder} is up to date`) : written.map((id) => `${folder}/${id}`).join('\n'));
      }
    },
  );

  withPlace(program.command('push').description('publish each file that differs from what is published'))
    .option('--note <text>', 'kept with the versions of workflows')
    .option('--dry-run', 'check and show the differences; publish nothing')
    .action(async (options: Options) => {
      const kinds = kindsOf(options.only).filter((kind) => existsSync(join(options.dir, kind)));
      if (kinds.length === 0)
        throw new Error(`There is no folder of ${options.only} in "${options.dir}". Make them with: npm run kiln -- pull`);
      const me = await openSession(program, AUTHOR);
      for (const kind of kinds) await (kind === 'kb' ? pushKnowledge(me, options) : pushDefinitions(me, kind, options));
    });
}

function kindsOf(only: string): Kind[] {
  const names = only.split(',').map((name) => name.trim());
  const isKind = (name: string): name is Kind => name === 'kb' || name in published;
  const wrong = names.filter((name) => !isKind(name));
  if (wrong.length > 0) throw new Error(`There is no kind "${wrong.join('", "')}"; write --only workflows,recipes,kb`);
  return names.filter(isKind);
}

/** The newest version of each workflow or recipe, as a member may read it. */
export async function readPublished(session: Pick<Session, 'db'>, account: string, kind: Published): Promise<DefinitionText[]> {
  const found: DefinitionText[] = [];
  const all = collection(session.db, `accounts/${account}/${kind}`);
  let last: string | undefined;
  for (;;) {
    const constraints: QueryConstraint[] = [orderBy(documentId()), ...(last === undefined ? [] : [startAfter(last)]), limit(PAGE)];
    const page = await getDocs(query(all, ...constraints));
    for (const one of page.docs) {
      const version = await getDoc(doc(session.db, `accounts/${account}/${kind}/${one.id}/versions/${String(one.data()['latest'])}`));
      const text = asString(version.data()?.['json']);
      if (text !== undefined) found.push({ id: one.id, text });
    }
    last = page.docs.at(-1)?.id;
    if (page.size < PAGE) return found;
  }
}

async function pushDefinitions({ session, account }: Me, kind: Published, { dir, note, dryRun }: Options): Promise<void> {
  const { publish, field, check } = published[kind];
  const files = readDefinitions(join(dir, kind));
  const changes = changesOf(await readPublished(session, account, kind), files);
  if (changes.length > 0) say(changes.map(changeText).join('\n'));
  const differs = new Set(changes.flatMap((change) => (change.kind === 'new' || change.kind === 'changed' ? [change.id] : [])));
  const changed = files.filter(({ id }) => differs.has(id));
  // All are checked before the first is published: a half-published set is harder to understand than none.
  if (check !== undefined && !(await checkAll(session, account, changed))) throw new Error('Nothing was published.');
  if (dryRun === true) return;
  for (const { id, text } of changed) {
    const content: unknown = JSON.parse(text);
    const noted = kind === 'workflows' && note !== undefined ? { note } : {};
    const answer = asObject(await session.call(publish, { accountId: account, [field]: content, ...noted }));
    say(pc.green(`published ${id}, version ${String(answer?.['version'])}`));
  }
}

async function checkAll(session: Session, account: string, files: readonly DefinitionText[]): Promise<boolean> {
  let good = true;
  for (const { id, text } of files) {
    const answer = asObject(await session.call('preflight', { accountId: account, definition: JSON.parse(text) as unknown }));
    for (const { path, message } of objectsIn(answer?.['problems'])) {
      good = false;
      say(pc.red(`${id}: ${asString(path) ?? ''}: ${asString(message) ?? ''}`));
    }
  }
  return good;
}

async function readStoredKnowledge({ session, account }: Me): Promise<KnowledgeText[]> {
  const found: KnowledgeText[] = [];
  let after: string | undefined;
  do {
    const page = asObject(await session.call('kb.list', { accountId: account, limit: PAGE, ...(after === undefined ? {} : { after }) }));
    for (const { id } of objectsIn(page?.['documents'])) found.push(knowledgeOf(await session.call('kb.get', { accountId: account, id })));
    after = asString(page?.['next']);
  } while (after !== undefined);
  return found;
}

async function pushKnowledge(me: Me, { dir, dryRun }: Options): Promise<void> {
  const stored = new Map((await readStoredKnowledge(me)).map((document) => [document.id, knowledgeFile(document)]));
  for (const document of readKnowledge(join(dir, 'kb'))) {
    const before = stored.get(document.id);
    const lines = diffLines(before ?? '', knowledgeFile(document));
    say(lines.length === 0 ? pc.dim(`= ${document.id}`) : linesText(before === undefined ? '+' : '~', document.id, lines));
    if (lines.length > 0 && dryRun !== true) await me.session.call('kb.add', { accountId: me.account, ...document });
  }
}

function changeText(change: Change): string {
  switch (change.kind) {
    case 'same':
      return pc.dim(`= ${change.id}`);
    case 'only published':
      return pc.dim(`? ${change.id} is published and has no file; pull it, or leave it`);
    case 'new':
      return linesText('+', change.id, change.lines);
    case 'changed':
      return linesText('~', change.id, change.lines);
  }
}

function linesText(mark: string, id: string, lines: readonly string[]): string {
  const coloured = lines.map((line) => (line.startsWith('+') ? pc.green(line) : line.startsWith('-') ? pc.red(line) : line));
  return [pc.bold(`${mark} ${id}`), ...coloured.map((line) => `    ${line}`)].join('\n');
}
