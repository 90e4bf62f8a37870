import type { ReactNode } from 'react';
import { documentsRead } from '../data/reads.ts';
import { useText } from '../text/text.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { useAllShortcuts } from '../ui/keys.tsx';
import styles from './key-help.module.css';

const shown: Readonly<Record<string, string>> = {
  ArrowDown: '↓',
  ArrowUp: '↑',
  ArrowLeft: '←',
  ArrowRight: '→',
  Escape: 'Esc',
  Enter: '⏎',
};

export function KeyHelp({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }): ReactNode {
  const { t } = useText();
  const scopes = useAllShortcuts();
  const [everywhere = [], ...here] = scopes;
  const groups = [
    { title: t.keys.here, shortcuts: here.flat() },
    { title: t.keys.everywhere, shortcuts: [...everywhere, { key: 'Escape', does: t.keys.closeOrBack }] },
  ];
  return (
    <Dialog open={open} onClose={onClose} title={t.keys.title}>
      <div className={styles['help']}>
        {groups.map((group) =>
          group.shortcuts.length === 0 ? null : (
            <section key={group.title}>
              <h3>{group.title}</h3>
              <dl>
                {group.shortcuts.map((shortcut) => (
                  <div key={shortcut.key}>
                    <dt>
                      <kbd>{shown[shortcut.key] ?? shortcut.key}</kbd>
                    </dt>
                    <dd>{shortcut.does}</dd>
                  </div>
                ))}
              </dl>
            </section>
          ),
        )}
        <p className="small soft">{t.shell.documentsRead(documentsRead())}</p>
      </div>
    </Dialog>
  );
}
