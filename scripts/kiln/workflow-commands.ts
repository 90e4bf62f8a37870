import type { Command } from 'commander';
import { collection, doc, documentId, getDoc, getDocs, limit, orderBy, query, startAfter } from 'firebase/firestore';
import type { QueryConstraint } from 'firebase/firestore';
import pc from 'picocolors';
import { asArray, asObject, asString } from '../json-objects.ts';
import type { Session } from './connect.ts';
import { openSession, say } from './globals.ts';
import { changesOf, readWorkflows, writeWorkflows } from './workflow-files.ts';
import type { Change, WorkflowText } from './workflow-files.ts';

const AUTHOR = 'operator@demo.kiln';
const FOLDER = 'workflows';
/** The rules allow no longer list. */
const PAGE = 100;

/** Definitions as files, so that a team keeps them in git. */
export function addWorkflowCommands(program: Command): void {
  program
    .command('pull')
    .description('write the newest published version of each workflow to a file')
    .option('--dir <folder>', 'where the files are', FOLDER)
    .action(async ({ dir }: { dir: string }) => {
      const me = await openSession(program, AUTHOR);
      const published = await readPublished(me.session, me.account);
      const written = writeWorkflows(dir, published);
      say(
        written.length === 0
          ? `${dir}/ is up to date (${published.length} workflows).`
          : written.map((id) => `${dir}/${id}.json`).join('\n'),
      );
    });

  program
    .command('push')
    .description('publish each file that differs from the newest published version')
    .option('--dir <folder>', 'where the files are', FOLDER)
    .option('--note <text>', 'kept with the versions')
    .option('--dry-run', 'check and show the differences; publish nothing')
    .action(async ({ dir, note, dryRun }: { dir: string; note?: string; dryRun?: boolean }) => {
      const me = await openSession(program, AUTHOR);
      const files = readWorkflows(dir);
      const changes = changesOf(await readPublished(me.session, me.account), files);
      say(changes.map(changeText).join('\n'));
      const changed = files.filter(({ id }) =>
        changes.some((change) => change.id === id && (change.kind === 'new' || change.kind === 'changed')),
      );
      // All are checked before the first is published: a half-published set is harder to understand than none.
      if (!(await checkAll(me.session, me.account, changed))) throw new Error('Nothing was published.');
      if (dryRun === true) return;
      for (const { id, text } of changed) {
        const answer = asObject(
          await me.session.call('publish', {
            accountId: me.account,
            definition: JSON.parse(text) as unknown,
            ...(note === undefined ? {} : { note }),
          }),
        );
        say(pc.green(`published ${id}, version ${String(answer?.['version'])}`));
      }
    });
}

/** The newest version of each workflow, as a member may read it. */
export async function readPublished(session: Pick<Session, 'db'>, account: string): Promise<WorkflowText[]> {
  const found: WorkflowText[] = [];
  const workflows = collection(session.db, `accounts/${account}/workflows`);
  let last: string | undefined;
  for (;;) {
    const constraints: QueryConstraint[] = [orderBy(documentId()), ...(last === undefined ? [] : [startAfter(last)]), limit(PAGE)];
    const page = await getDocs(query(workflows, ...constraints));
    for (const one of page.docs) {
      const version = await getDoc(doc(session.db, `accounts/${account}/workflows/${one.id}/versions/${String(one.data()['latest'])}`));
      const text = asString(version.data()?.['json']);
      if (text !== undefined) found.push({ id: one.id, text });
    }
    last = page.docs.at(-1)?.id;
    if (page.size < PAGE) return found;
  }
}

async function checkAll(session: Session, account: string, files: readonly WorkflowText[]): Promise<boolean> {
  let good = true;
  for (const { id, text } of files) {
    const answer = asObject(await session.call('preflight', { accountId: account, definition: JSON.parse(text) as unknown }));
    for (const problem of asArray(answer?.['problems'])) {
      good = false;
      const { path, message } = asObject(problem) ?? {};
      say(pc.red(`${id}: ${asString(path) ?? ''}: ${asString(message) ?? ''}`));
    }
  }
  return good;
}

function changeText(change: Change): string {
  switch (change.kind) {
    case 'same':
      return pc.dim(`= ${change.id}`);
    case 'only published':
      return pc.dim(`? ${change.id} is published and has no file; pull it, or leave it`);
    case 'new':
    case 'changed': {
      const coloured = change.lines.map((line) => (line.startsWith('+') ? pc.green(line) : line.startsWith('-') ? pc.red(line) : line));
      return [pc.bold(`${change.kind === 'new' ? '+' : '~'} ${change.id}`), ...coloured.map((line) => `    ${line}`)].join('\n');
    }
  }
}
