/**
 * How many documents the page in front has read from the server: shown in the help dialog and checked by a test against a budget.
 * What comes from the local cache costs nothing and is not counted.
 */

let page = '';
let count = 0;

function publish(): void {
  document.documentElement.dataset['documentsRead'] = String(count);
}

export function startCounting(pathname: string): void {
  if (pathname === page) return;
  page = pathname;
  count = 0;
  publish();
}

export function countReads(documents: number): void {
  count += documents;
  publish();
}

export function documentsRead(): number {
  return count;
}
