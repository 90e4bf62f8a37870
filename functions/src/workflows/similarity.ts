/** Issues that the demo knows: what an own issue tracker would be asked for. */
const knownIssues = [
  { number: 101, title: 'Typo in the installation guide' },
  { number: 102, title: 'Spelling of “receive” in the README' },
  { number: 103, title: 'Crash when the configuration file is empty' },
  { number: 104, title: 'Support Node 24' },
  { number: 105, title: 'How do I change the port?' },
  { number: 106, title: 'Links in the README point to an old domain' },
] as const;

const MOST = 3;

export interface SimilarIssue {
  readonly number: number;
  readonly title: string;
  /** Shared words among all words of both titles, 0 to 1. */
  readonly score: number;
}

/** The known issues whose titles share words with the given one, the most similar first. */
export function similarIssues(title: string): SimilarIssue[] {
  const wanted = wordsOf(title);
  return knownIssues
    .map((issue) => ({ ...issue, score: overlap(wanted, wordsOf(issue.title)) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.number - b.number)
    .slice(0, MOST);
}

function overlap(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const shared = [...a].filter((word) => b.has(word)).length;
  const all = new Set([...a, ...b]).size;
  return all === 0 ? 0 : Math.round((shared / all) * 100) / 100;
}

/** Words of four letters and more; short ones are in every title. */
function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? []);
}
