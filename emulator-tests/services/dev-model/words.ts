/** Lower-case words and numbers of a text; "camelCase" and "snake_case" names are split. */
export function wordsOf(text: string): string[] {
  return (
    text
      .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

/** A crude common stem, so that "labels" meets "label" and "failing" meets "failed". */
export function stem(word: string): string {
  if (word.length <= 4) return word.length === 4 && word.endsWith('s') ? word.slice(0, -1) : word;
  return word.replace(/(?:ations?|ings?|ness|ies|ed|es|s)$/u, '');
}

/** Words that hint at a class without being its name. */
const hints: Readonly<Record<string, string>> = {
  bug: 'error crash broken fail exception regression wrong incorrect typo misspelling spelling defect fix stack trace',
  feature: 'add support request allow enable new would nice idea enhancement',
  enhancement: 'add support request allow enable new would nice idea feature improve',
  question: 'how why what where when help wondering understand question',
  documentation: 'readme docs document guide comment spelling typo example',
  security: 'vulnerability cve leak secret password token attack',
  high: 'urgent critical severe outage production down immediately blocker asap',
  urgent: 'critical severe outage production down immediately blocker asap',
  critical: 'urgent severe outage production down immediately blocker data loss',
  low: 'minor small typo cosmetic spelling trivial nice',
  positive: 'good great excellent love happy thanks thank',
  negative: 'bad terrible awful hate angry broken unhappy refund',
  billing: 'invoice payment charge refund price amount',
  invoice: 'amount due total payment vendor supplier',
};

/** How strongly the text speaks for an option: its own words count most, hints less. */
export function affinity(option: string, textStems: ReadonlyMap<string, number>): number {
  const own = wordsOf(option).map(stem);
  if (own.length === 0) return 0;
  const named = own.reduce((sum, word) => sum + (textStems.get(word) ?? 0), 0) / own.length;
  const hinted = own.flatMap((word) => wordsOf(hints[word] ?? '')).reduce((sum, word) => sum + (textStems.get(stem(word)) ?? 0), 0);
  return named * 2 + hinted;
}

export function countStems(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of wordsOf(text)) {
    const key = stem(word);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}
