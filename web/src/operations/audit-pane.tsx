import type { ReactNode } from 'react';
import { useAccount, usePeople } from '../data/account.tsx';
import { call } from '../data/api.ts';
import { useLiveList } from '../data/live.ts';
import { queries } from '../data/queries.ts';
import { historyShape } from '../data/shapes.ts';
import { useText } from '../text/text.tsx';
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
      <VerifyChain verify={() => call('verifyAudit', accountId, {})} />
      <Entries />
    </div>
  );
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
