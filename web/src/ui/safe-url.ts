const schemes = new Set(['http:', 'https:', 'mailto:']);

/** The address if it may be opened: http, https and mailto only, whatever the text tries. */
export function safeUrl(text: string, base: string): URL | undefined {
  try {
    const url = new URL(text.trim(), base);
    return schemes.has(url.protocol) ? url : undefined;
  } catch {
    return undefined;
  }
}
