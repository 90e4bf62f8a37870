import { ActionIcon } from '@mantine/core';
import { useEffect, useId, useRef, type ReactNode } from 'react';
import { useText } from '../text/text.tsx';
import { Icon } from './icons.tsx';
import styles from './dialog.module.css';

interface DialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly wide?: boolean;
  readonly children: ReactNode;
}

/**
 * The browser's own modal dialog: it traps the focus, closes with Escape and gives the focus back, without a style tag that the
 * content security policy would forbid. On a phone it is a sheet at the bottom.
 */
export function Dialog({ open, onClose, title, wide = false, children }: DialogProps): ReactNode {
  const { t } = useText();
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();

  useEffect(() => {
    const dialog = ref.current;
    if (dialog === null) return;
    if (open && !dialog.open) dialog.showModal();
    if (!open && dialog.open) dialog.close();
  }, [open]);

  return (
    <dialog
      ref={ref}
      aria-labelledby={titleId}
      className={`${styles['dialog']} ${wide ? styles['wide'] : ''}`}
      onClose={onClose}
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
    >
      {open ? (
        <>
          <div className={styles['head']}>
            <h2 id={titleId}>{title}</h2>
            <ActionIcon variant="subtle" color="gray" size="lg" aria-label={t.common.close} onClick={onClose}>
              <Icon name="cross" />
            </ActionIcon>
          </div>
          <div className={styles['body']}>{children}</div>
        </>
      ) : null}
    </dialog>
  );
}
