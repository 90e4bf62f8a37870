import { createHash } from 'node:crypto';
import { stem, wordsOf } from './words.ts';

/** Words that say nothing about the subject. */
const stopWords = new Set(
  'a an and are as at be by for from has have in is it its of on or that the this to was were will with you your'.split(' '),
);

/**
 * A vector of unit length from hashed words and pairs of words: texts that share words are near each other, and the
 * same text always has the same vector. It knows nothing of meaning.
 */
export function embed(text: string, dimensions: number): number[] {
  const vector = Array.from({ length: dimensions }, () => 0);
  const words = wordsOf(text)
    .filter((word) => !stopWords.has(word))
    .map(stem);
  const features = [...words, ...words.slice(1).map((word, index) => `${words[index] ?? ''} ${word}`)];
  for (const feature of features) {
    const digest = createHash('sha256').update(feature).digest();
    const slot = digest.readUInt32BE(0) % dimensions;
    const weight = feature.includes(' ') ? 0.5 : 1;
    vector[slot] = (vector[slot] ?? 0) + ((digest[4] ?? 0) % 2 === 0 ? weight : -weight);
  }
  const length = Math.hypot(...vector);
  // A text without words still needs a direction: distances to a zero vector are undefined.
  if (length === 0) return vector.map((_, index) => (index === 0 ? 1 : 0));
  return vector.map((value) => value / length);
}
