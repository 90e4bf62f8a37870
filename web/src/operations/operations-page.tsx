import { useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useFocusOnArrival } from '../app/focus.ts';
import { usePageTitle } from '../app/page-title.tsx';
import { useText } from '../text/text.tsx';
import { TabBar } from '../ui/tab-bar.tsx';
import { AuditPane } from './audit-pane.tsx';
import { BulkPane } from './bulk-pane.tsx';
import { ExceptionsPane } from './exceptions-pane.tsx';
import { HealthPane } from './health-pane.tsx';
import { MembersPane } from './members-pane.tsx';
import { SchedulesPane } from './schedules-pane.tsx';
import { SettingsPane } from './settings-pane.tsx';
import { ToolsPane } from './tools-pane.tsx';
import { WebhooksPane } from './webhooks-pane.tsx';
import styles from './operations.module.css';

const panes = {
  exceptions: ExceptionsPane,
  bulk: BulkPane,
  health: HealthPane,
  webhooks: WebhooksPane,
  schedules: SchedulesPane,
  tools: ToolsPane,
  members: MembersPane,
  settings: SettingsPane,
  audit: AuditPane,
} as const;
type Tab = keyof typeof panes;
const tabs = Object.keys(panes) as Tab[];

export function OperationsPage(): ReactNode {
  const { t } = useText();
  const navigate = useNavigate();
  const { tab } = useSearch({ from: '/a/$accountId/operations' });
  const current = tabs.find((each) => each === tab) ?? 'exceptions';
  const Pane = panes[current];
  usePageTitle(`${t.operations.title}: ${t.operations.tabs[current]}`);
  useFocusOnArrival('operations');
  return (
    <div className={styles['page']}>
      <h1>{t.operations.title}</h1>
      <TabBar
        label={t.operations.title}
        tabs={tabs.map((each) => ({ id: each, label: t.operations.tabs[each] }))}
        current={current}
        onChange={(next) => void navigate({ from: '/a/$accountId/operations', to: '.', search: { tab: next }, replace: true })}
      >
        <Pane />
      </TabBar>
    </div>
  );
}
