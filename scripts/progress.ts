/** One line when something begins, one when it ended: readable in a terminal and in a log. */
export async function step<T>(title: string, work: () => Promise<T>, note: (result: T) => string = () => ''): Promise<T> {
  const startedAt = performance.now();
  say(`${title} …`);
  const result = await work();
  const remark = note(result);
  say(`${title}: ${remark === '' ? 'done' : remark} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`);
  return result;
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
