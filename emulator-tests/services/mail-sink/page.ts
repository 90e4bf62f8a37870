import type { SunkMail } from './mail.ts';

/** Mails come from workflows, and workflows from anywhere: nothing of them is ever markup of this page. */
export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;');
}

/** Escaped text in which http(s) addresses can be followed. */
export function linked(text: string): string {
  const parts = text.split(/(https?:\/\/[^\s<>"']+)/u);
  return parts
    .map((part, index) =>
      index % 2 === 1 ? `<a href="${escapeHtml(part)}" rel="noopener noreferrer">${escapeHtml(part)}</a>` : escapeHtml(part),
    )
    .join('');
}

/** No script at all; a mail's own HTML is shown in a frame without rights and without network. */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
} as const;

function article(mail: SunkMail): string {
  const html =
    mail.html === ''
      ? ''
      : `<details><summary>HTML part</summary><iframe sandbox title="HTML part" srcdoc="${escapeHtml(mail.html)}"></iframe></details>`;
  return `<article id="${escapeHtml(mail.id)}"><h2>${escapeHtml(mail.subject)}</h2>
<p><b>To</b> ${escapeHtml(mail.to.join(', '))} · <b>From</b> ${escapeHtml(mail.from)} · <time>${escapeHtml(mail.receivedAt)}</time></p>
<pre>${linked(mail.text)}</pre>${html}</article>`;
}

export function mailPage(mails: readonly SunkMail[]): string {
  const newestFirst = [...mails].reverse();
  const list = newestFirst.length === 0 ? '<p>No mail yet.</p>' : newestFirst.map(article).join('\n');
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Mail sink</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}article{border-top:1px solid #8888;padding:.5rem 0}
pre{white-space:pre-wrap;overflow-wrap:anywhere}iframe{width:100%;height:20rem;border:1px solid #8888;background:#fff}h2{margin:.2rem 0;overflow-wrap:anywhere}</style></head>
<body><h1>Mail sink</h1><p>Mails of this development environment. None was really sent.</p>
${list}
</body></html>`;
}
