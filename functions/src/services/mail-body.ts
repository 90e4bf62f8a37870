import { KilnError } from '../model/errors.ts';

/** What a mail says. A link is a pointer to a page where somebody signed in decides; it never carries a decision itself, since scanners follow links. */
export interface MailContent {
  readonly heading: string;
  readonly paragraphs: readonly string[];
  readonly link?: { readonly label: string; readonly url: string };
}

export interface MailBody {
  readonly text: string;
  readonly html: string;
}

export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;');
}

/** Plain text and HTML of the same content. Everything is text: no markup, images or scripts from outside can get in. */
export function mailBody(content: MailContent): MailBody {
  const link = content.link === undefined ? undefined : { label: content.link.label, url: webAddress(content.link.url) };
  const text = [content.heading, ...content.paragraphs, ...(link === undefined ? [] : [`${link.label}: ${link.url}`])].join('\n\n');
  const paragraphs = content.paragraphs.map((paragraph) => `<p>${escapeHtml(paragraph).replaceAll('\n', '<br>')}</p>`).join('');
  const anchor =
    link === undefined ? '' : `<p><a href="${escapeHtml(link.url)}">${escapeHtml(link.label)}</a></p><p>${escapeHtml(link.url)}</p>`;
  const html = `<!doctype html><html><body style="font-family:sans-serif"><h2>${escapeHtml(content.heading)}</h2>${paragraphs}${anchor}</body></html>`;
  return { text, html };
}

function webAddress(text: string): string {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw new KilnError('request.invalid', 'A link in a mail has to be a web address.');
  return url.href;
}
