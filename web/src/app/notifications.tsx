import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { useAccount } from '../data/account.tsx';
import { useLiveList } from '../data/live.ts';
import { queries } from '../data/queries.ts';
import { useUser } from '../data/session.tsx';
import { notificationShape } from '../data/shapes.ts';
import { markRead } from '../data/writes.ts';
import { useText } from '../text/text.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { SafeLink } from '../ui/safe-link.tsx';
import { Empty } from '../ui/states.tsx';
import { Ago } from '../ui/time.tsx';
import type { NotificationRecord } from '@model/outbox.ts';
import styles from './notifications.module.css';

function useNotifications(): readonly NotificationRecord[] {
  const { accountId } = useAccount();
  const live = useLiveList(queries.notifications(accountId, useUser().uid), notificationShape);
  return live.state === 'ready' ? live.value.map((item) => item.value) : [];
}

export function useUnread(): number {
  return useNotifications().filter((notification) => notification.readAt === undefined).length;
}

export function Notifications({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const notifications = useNotifications();
  const unread = notifications.filter((each) => each.readAt === undefined);
  const read = (which: readonly NotificationRecord[]): void => {
    for (const each of which) void markRead(accountId, each.id);
  };
  return (
    <Dialog open={open} onClose={onClose} title={t.shell.notifications}>
      {notifications.length === 0 ? <Empty icon="bell" title={t.shell.notifications} text={t.shell.noNotifications} /> : null}
      <ul className={styles['list']}>
        {notifications.map((each) => (
          <li key={each.id} data-unread={each.readAt === undefined}>
            <div>
              <strong>{each.title}</strong> <span className="small soft">{<Ago at={each.createdAt} />}</span>
            </div>
            <p className="small">{each.body}</p>
            {each.link === undefined ? null : (
              <SafeLink
                url={each.link}
                onFollow={() => {
                  read([each]);
                  onClose();
                }}
              >
                {t.common.open}
              </SafeLink>
            )}
          </li>
        ))}
      </ul>
      {unread.length === 0 ? null : (
        <Button variant="default" onClick={() => read(unread)}>
          {t.shell.markAllRead}
        </Button>
      )}
    </Dialog>
  );
}
