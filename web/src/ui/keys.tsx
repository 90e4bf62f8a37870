import { useEffect, useRef, useSyncExternalStore } from 'react';

export interface Shortcut {
  /** As `KeyboardEvent.key` names it. */
  readonly key: string;
  readonly does: string;
  readonly run: () => void;
}

/** The shortcuts of the pages that are mounted, the innermost last: what `?` lists and what keys do. */
let scopes: readonly (readonly Shortcut[])[] = [];
const listeners = new Set<() => void>();

function change(next: readonly (readonly Shortcut[])[]): void {
  scopes = next;
  for (const listener of listeners) listener();
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.shadowRoot !== null)
  );
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  // A dialog has the page's keys; it closes with Escape by itself.
  if (document.querySelector('dialog[open]') !== null) return;
  const shortcut = scopes.flat().findLast((each) => each.key === event.key);
  if (shortcut === undefined) return;
  event.preventDefault();
  shortcut.run();
}

let installed = false;

/** Keys that work while the component is mounted; the newest component wins. */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  const latest = useRef(shortcuts);
  latest.current = shortcuts;
  const names = shortcuts.map((shortcut) => `${shortcut.key} ${shortcut.does}`).join('\n');
  useEffect(() => {
    if (!installed) {
      installed = true;
      document.addEventListener('keydown', onKey);
    }
    const scope = latest.current.map((shortcut, index) => ({ ...shortcut, run: () => latest.current[index]?.run() }));
    change([...scopes, scope]);
    return () => change(scopes.filter((each) => each !== scope));
  }, [names]);
}

export function useAllShortcuts(): readonly (readonly Shortcut[])[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => scopes,
  );
}
