/** A server time as Firestore hands it out, in milliseconds; an estimate while it is being written. */
export function millisOf(value: unknown): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'object' && value !== null && 'toMillis' in value && typeof value.toMillis === 'function')
    return Number(value.toMillis());
  return Date.now();
}
