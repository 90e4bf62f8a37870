/** A document's path without its account's collection: short enough for a trace. */
export function shorten(path: string): string {
  return path.startsWith('accounts/') ? path.slice('accounts/'.length) : path;
}
