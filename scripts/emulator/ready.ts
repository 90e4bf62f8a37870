import type { Child } from '../process/child.ts';

const POLL_MS = 50;

/** Resolves when `url` answers at all; rejects with the child's last words if it ends or stays silent. */
export async function untilReady(child: Child, url: string, timeoutMs = 60_000): Promise<void> {
  let ended = false;
  void child.exited.then(() => {
    ended = true;
  });
  const giveUpAt = performance.now() + timeoutMs;
  while (!(await answers(url))) {
    if (ended) throw new Error(`${child.name} ended before it was ready. Its last lines:\n${child.tail()}`);
    if (performance.now() > giveUpAt) {
      await child.stop('SIGKILL');
      throw new Error(`${child.name} was not ready after ${timeoutMs / 1000} s. Its last lines:\n${child.tail()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    await fetch(url, { signal: AbortSignal.timeout(2000) });
    return true;
  } catch {
    return false;
  }
}
