import { firstLoad } from '../web/size.ts';
import { fixed } from './parts.ts';
import type { PartResult } from './parts.ts';

/** What the browser fetches before the inbox shows. The run page of 10,000 steps is timed by the web tests. */
export async function web(): Promise<PartResult> {
  const { bytes, files } = await firstLoad();
  return {
    title: 'First load of the web app',
    rows: [
      ['', 'KB, gzip', 'files'],
      ['up to the inbox', fixed(bytes / 1024, 1), String(files.size)],
    ],
    figures: { 'web.firstLoadKb': bytes / 1024 },
  };
}
