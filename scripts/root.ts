import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of package.json. */
export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
/** What can be made again: stamps, logs, the launcher jar, test reports. */
export const CACHE = join(ROOT, '.cache');
export const PROJECT_ID = 'demo-kiln';
