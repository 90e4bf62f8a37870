/** Finding texts by words: the fallback where no embedding model is configured. */

/** Firestore compares a list with at most 30 values. */
export const MAX_QUERY_TERMS = 30;
/** More distinct words than this no chunk of 1,200 characters needs for being found. */
export const MAX_STORED_TERMS = 250;

const stopWords = new Set(
  'a an and are as at be but by can do does for from had has have how i if in into is it its me my no not of on or our so that the their them then there these they this to was we were what when where which who why will with you your'.split(
    ' ',
  ),
);
const segmenter = new Intl.Segmenter('en', { granularity: 'word' });

/** The words of a text in a comparable form: lower case, without accents and plural endings. Works for languages without spaces. */
export function wordsOf(text: string): string[] {
  const folded = text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase();
  const words: string[] = [];
  for (const { segment, isWordLike } of segmenter.segment(folded)) {
    if (isWordLike === true && !stopWords.has(segment)) words.push(stem(segment));
  }
  return words;
}

export function distinctWords(text: string, limit: number): string[] {
  return [...new Set(wordsOf(text))].slice(0, limit);
}

/** Just enough for "refund" to find "refunds" and "policy" to find "policies". */
function stem(word: string): string {
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  if (word.length > 4 && /(s|x|z|ch|sh)es$/.test(word)) return word.slice(0, -2);
  if (word.length > 3 && word.endsWith('s') && !word.endsWith('ss') && !word.endsWith('us')) return word.slice(0, -1);
  return word;
}

const K1 = 1.2;
const B = 0.75;

/**
 * BM25 of each text for the query, scaled to 0..1 (1 = as good as a text can be for this query). Word weights come from
 * the given texts themselves, so scores of different searches are not comparable in detail.
 */
export function bm25(query: string, texts: readonly string[]): number[] {
  const terms = distinctWords(query, MAX_QUERY_TERMS);
  const counted = texts.map((text) => countWords(text));
  const average = counted.reduce((sum, { total }) => sum + total, 0) / Math.max(counted.length, 1);
  const weights = terms.map((term) => {
    const containing = counted.filter(({ counts }) => counts.has(term)).length;
    return Math.log(1 + (counted.length - containing + 0.5) / (containing + 0.5));
  });
  const best = weights.reduce((sum, weight) => sum + weight * (K1 + 1), 0);
  return counted.map(({ counts, total }) => {
    const score = terms.reduce((sum, term, index) => {
      const frequency = counts.get(term) ?? 0;
      const length = K1 * (1 - B + (B * total) / Math.max(average, 1));
      return sum + ((weights[index] ?? 0) * frequency * (K1 + 1)) / (frequency + length);
    }, 0);
    return best === 0 ? 0 : score / best;
  });
}

function countWords(text: string): { readonly counts: ReadonlyMap<string, number>; readonly total: number } {
  const counts = new Map<string, number>();
  const words = wordsOf(text);
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return { counts, total: words.length };
}
