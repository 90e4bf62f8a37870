import { useSyncExternalStore, type ReactNode } from 'react';
import { Icon } from './icons.tsx';
import styles from './toast.module.css';

interface Toast {
  readonly id: number;
  readonly tone: 'good' | 'bad';
  readonly text: string;
}

const SHOWN_MS = 6_000;
let toasts: readonly Toast[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

/** Says in passing that something was done, or was not. */
export function toast(tone: Toast['tone'], text: string): void {
  const id = nextId;
  nextId += 1;
  change([...toasts.slice(-2), { id, tone, text }]);
  setTimeout(() => change(toasts.filter((each) => each.id !== id)), SHOWN_MS);
}

export function Toasts(): ReactNode {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div className={styles['area']} role="status" aria-live="polite">
      {shown.map((each) => (
        <div key={each.id} className={`${styles['toast']} ${styles[each.tone] ?? ''}`}>
          <Icon name={each.tone === 'good' ? 'check' : 'warn'} />
          <span>{each.text}</span>
        </div>
      ))}
    </div>
  );
}
