import { useSyncExternalStore } from 'react';

/** One clock for all relative times on the page: it ticks while somebody looks at it. */
const TICK_MS = 1_000;
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let current = Date.now();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    if (document.hidden) return;
    current = Date.now();
    for (const each of listeners) each();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The time now, in steps of `everyMs`. */
export function useNow(everyMs = 10_000): number {
  return useSyncExternalStore(subscribe, () => Math.floor(current / everyMs) * everyMs);
}
