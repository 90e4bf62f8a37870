/** Beyond this many cells the table of common lines is not worth its memory: the middle is shown as replaced. */
const CELLS_MAX = 4_000_000;
const CONTEXT = 3;

interface Line {
  readonly mark: ' ' | '-' | '+';
  readonly text: string;
}

/** The lines that differ, marked `-` and `+`, each with three lines around it; empty when the texts are equal. */
export function diffLines(before: string, after: string): string[] {
  if (before === after) return [];
  const lines = compare(before.split('\n'), after.split('\n'));
  const shown = new Set<number>();
  for (const [index, line] of lines.entries()) {
    if (line.mark === ' ') continue;
    for (let near = index - CONTEXT; near <= index + CONTEXT; near += 1) shown.add(near);
  }
  return lines.flatMap((line, index) => {
    if (!shown.has(index)) return [];
    const gap = index > 0 && !shown.has(index - 1) ? ['…'] : [];
    return [...gap, `${line.mark} ${line.text}`];
  });
}

function compare(before: readonly string[], after: readonly string[]): Line[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const same = (text: string): Line => ({ mark: ' ', text });
  const middle = changed(before.slice(start, before.length - end), after.slice(start, after.length - end));
  return [...before.slice(0, start).map(same), ...middle, ...before.slice(before.length - end).map(same)];
}

function changed(before: readonly string[], after: readonly string[]): Line[] {
  const replaced = (): Line[] => [
    ...before.map((text): Line => ({ mark: '-', text })),
    ...after.map((text): Line => ({ mark: '+', text })),
  ];
  if (before.length * after.length > CELLS_MAX) return replaced();
  const width = after.length + 1;
  // common[i * width + j]: the longest common subsequence of before[i…] and after[j…].
  const common = new Uint32Array((before.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1)
      common[i * width + j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    const [old, fresh] = [before[i], after[j]];
    if (old !== undefined && old === fresh) {
      lines.push({ mark: ' ', text: old });
      i += 1;
      j += 1;
    } else if (old !== undefined && (fresh === undefined || at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ mark: '-', text: old });
      i += 1;
    } else {
      lines.push({ mark: '+', text: fresh ?? '' });
      j += 1;
    }
  }
  return lines;
}
