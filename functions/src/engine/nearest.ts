/** Comparing costs keys × length², so both are bounded. */
const KEYS_COMPARED_MAX = 500;
const KEY_COMPARED_CHARS = 64;

/** The one of the keys that is most like the wanted one; undefined when there is none. */
export function nearestKey(keys: readonly string[], wanted: string): string | undefined {
  let nearest: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const key of keys.slice(0, KEYS_COMPARED_MAX)) {
    const distance = editDistance(key.slice(0, KEY_COMPARED_CHARS), wanted.slice(0, KEY_COMPARED_CHARS));
    if (distance < least) {
      least = distance;
      nearest = key;
    }
  }
  return nearest;
}

/** Levenshtein distance, where a letter in the other case counts half. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const change = changeCost(a.charAt(row - 1), b.charAt(column - 1));
      current.push(Math.min((previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, (previous[column - 1] ?? 0) + change));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}

function changeCost(a: string, b: string): number {
  if (a === b) return 0;
  return a.toLowerCase() === b.toLowerCase() ? 0.5 : 1;
}
