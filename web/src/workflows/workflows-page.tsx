import { Button } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useFocusOnArrival } from '../app/focus.ts';
import { usePageTitle } from '../app/page-title.tsx';
import { useAccount } from '../data/account.tsx';
import { useLiveList } from '../data/live.ts';
import { queries } from '../data/queries.ts';
import { workflowShape } from '../data/shapes.ts';
import { useText } from '../text/text.tsx';
import { Icon } from '../ui/icons.tsx';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { Ago } from '../ui/time.tsx';
import styles from './workflows.module.css';

export function WorkflowsPage(): ReactNode {
  const { t } = useText();
  const { accountId, can } = useAccount();
  const navigate = useNavigate();
  const live = useLiveList(queries.workflows(accountId), workflowShape);
  usePageTitle(t.workflows.title);
  useFocusOnArrival('workflows');
  const create = (): void => void navigate({ to: '/a/$accountId/workflows/new', params: { accountId } });
  return (
    <div className={styles['page']}>
      <header className={styles['head']}>
        <h1>{t.workflows.title}</h1>
        {can('author') ? (
          <Button leftSection={<Icon name="plus" />} onClick={create}>
            {t.workflows.create}
          </Button>
        ) : null}
      </header>
      {live.state === 'loading' ? <Loading /> : null}
      {live.state === 'failed' ? <Problem error={live.error} /> : null}
      {live.state === 'ready' && live.value.length === 0 ? (
        <Empty icon="flow" title={t.workflows.empty.title} text={t.workflows.empty.text}>
          {can('author') ? <Button onClick={create}>{t.workflows.create}</Button> : null}
        </Empty>
      ) : null}
      {live.state === 'ready' && live.value.length > 0 ? (
        <ul className={styles['list']}>
          {live.value.map(({ id, value }) => (
            <li key={id}>
              <Link to="/a/$accountId/workflows/$workflowId" params={{ accountId, workflowId: id }} className={styles['row']}>
                <span>
                  <strong>{value.name === '' ? id : value.name}</strong>
                  {value.description === undefined ? null : <span className="soft">{value.description}</span>}
                </span>
                <span className="small soft">
                  {t.workflows.version(value.latest)} · <Ago at={value.updatedAt} />
                </span>
                <Icon name="right" />
              </Link>
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  );
}
