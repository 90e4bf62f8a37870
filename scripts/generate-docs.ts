/** `npm run docs`: writes the parts of docs/ that are made from the code. */
import { generateDocs } from './docs/generate.ts';
import { ROOT } from './root.ts';

const written = generateDocs(ROOT);
process.stdout.write(written.length === 0 ? 'docs/ is up to date.\n' : `${written.join('\n')}\n`);
