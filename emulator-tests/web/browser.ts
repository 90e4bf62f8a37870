/** Chromium as people use it, watched: no page may break the content security policy, throw, or ask another host for anything. */
import { existsSync } from 'node:fs';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';

const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

export function chromiumPath(): string {
  const found = [process.env['CHROMIUM_PATH'] ?? '', ...PLACES].find((path) => path !== '' && existsSync(path));
  if (found === undefined) throw new Error('No Chromium was found. Install it, or name it in CHROMIUM_PATH.');
  return found;
}

export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox'] });
}

export interface Window {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: 'light' | 'dark';
  readonly language?: string;
}

/** A page with everything that went wrong in it. */
export interface Watched {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly wrong: readonly string[];
  close(): Promise<void>;
}

export async function open(
  browser: Browser,
  url: string,
  { width = 1280, height = 900, scheme = 'light', language = 'en-GB' }: Window = {},
): Promise<Watched> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: scheme,
    locale: language,
    timezoneId: 'Europe/Zurich',
    reducedMotion: 'reduce',
    hasTouch: width < 500,
  });
  const page = await context.newPage();
  // Less than a test may take, so that it says what it waited for.
  page.setDefaultTimeout(20_000);
  const wrong: string[] = [];
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) =>
      console.error(`policy violated: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`),
    );
    globalThis.alert = (text) => console.error(`alert: ${String(text)}`);
  });
  page.on('pageerror', (error) => wrong.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error' && /policy violated|alert:|TrustedS|Content Security Policy/.test(message.text()))
      wrong.push(message.text());
  });
  page.on('request', (request) => {
    const { hostname, protocol } = new URL(request.url());
    if (protocol.startsWith('http') && hostname !== '127.0.0.1' && hostname !== 'localhost')
      wrong.push(`asked another host: ${request.url()}`);
  });
  await page.goto(url);
  return { page, context, wrong, close: () => context.close() };
}

/** One click, as on every demo project; the page then shows what its address says. */
export async function signIn(page: Page, who: 'Approver' | 'Operator' | 'Admin' | 'Outsider'): Promise<void> {
  await page.getByRole('button', { name: new RegExp(`^${who}`) }).click();
}
