import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** Pairs of process id and parent id. `/proc` first, since slim Linux images have no `ps`; macOS has `ps` only. */
function processTable(): Map<number, number> {
  const table = new Map<number, number>();
  try {
    for (const entry of readdirSync('/proc')) {
      if (!/^\d+$/.test(entry)) continue;
      const parent = parentFromStat(entry);
      if (parent !== undefined) table.set(Number(entry), parent);
    }
    return table;
  } catch {
    const out = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
    for (const line of out.split('\n')) {
      const [pid, parent] = line.trim().split(/\s+/).map(Number);
      if (pid !== undefined && parent !== undefined) table.set(pid, parent);
    }
    return table;
  }
}

function parentFromStat(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command name may hold spaces and brackets: what follows the last bracket is "state ppid …".
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined; // It ended while we looked.
  }
}

/** Everything that `root` started, directly or not, nearest first. */
export function descendants(root: number): number[] {
  const table = processTable();
  const found: number[] = [];
  let layer = new Set([root]);
  while (layer.size > 0) {
    const next = new Set<number>();
    for (const [pid, parent] of table) if (layer.has(parent)) next.add(pid);
    found.push(...next);
    layer = next;
  }
  return found;
}
