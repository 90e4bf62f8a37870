import type { ReactNode } from 'react';
import { useAccount, usePeople } from '../data/account.tsx';
import { call } from '../data/api.ts';
import { readList, useLiveList } from '../data/live.ts';
import { pageSize, queries } from '../data/queries.ts';
import { historyShape } from '../data/shapes.ts';
import { useText } from '../text/text.tsx';
import { DownloadButton } from '../ui/download.tsx';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { Moment } from '../ui/time.tsx';
import { VerifyChain } from './verify-chain.tsx';
import styles from './operations.module.css';

export function AuditPane(): ReactNode {
  const { t } = useText();
  const { accountId, can } = useAccount();
  if (!can('administer')) return <Empty icon="ban" title={t.operations.audit.onlyAdmins} />;
  return (
    <div className={styles['stack']}>
      <div className={styles['line']}>
        <VerifyChain verify={() => call('verifyAudit', accountId, {})} />
        <DownloadButton label={t.operations.audit.save} name={`audit-${accountId}.jsonl`} text={() => wholeAudit(accountId)} />
      </div>
      <Entries />
    </div>
  );
}

/** JSON Lines, an entry each, from the first to the last. */
async function wholeAudit(accountId: string): Promise<string> {
  const lines: string[] = [];
  for (let after = 0; ;) {
    const entries = await readList(queries.auditFrom(accountId, after), historyShape);
    lines.push(...entries.map(({ value }) => `${JSON.stringify(value)}\n`));
    const last = entries.at(-1);
    if (last === undefined || entries.length < pageSize.audit) return lines.join('');
    after = last.value.n;
  }
}

function Entries(): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const people = usePeople();
  const live = useLiveList(queries.audit(accountId), historyShape);
  if (live.state === 'loading') return <Loading />;
  if (live.state === 'failed') return <Problem error={live.error} />;
  const { none } = t.operations.audit;
  if (live.value.length === 0) return <Empty icon="book" title={none.title} text={none.text} />;
  return (
    <ol className={styles['list']} reversed>
      {live.value.map(({ id, value }) => (
        <li key={id}>
          <div className={styles['main']}>
            <p>{value.text}</p>
            <p className="small soft">
              {people.nameOf(value.by)} · <Moment at={value.at} />
            </p>
          </div>
          <code className="small soft">{value.hash.slice(0, 8)}</code>
        </li>
      ))}
    </ol>
  );
}
