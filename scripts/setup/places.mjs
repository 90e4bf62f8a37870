import { existsSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as util from 'node:util';

export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const NODE_24 = join(ROOT, 'node_modules', 'node', 'bin', 'node');

/**
 * The environment of everything that is started from here: Node 24 first on PATH, then the project's own tools, then Java
 * from JAVA_HOME where PATH has none of its own.
 */
export function environment() {
  const ownPath = process.env.PATH ?? '';
  const path = [join(ROOT, 'node_modules', 'node', 'bin'), join(ROOT, 'node_modules', '.bin'), ownPath];
  const javaHome = process.env.JAVA_HOME;
  if (javaHome !== undefined && existsSync(join(javaHome, 'bin', 'java'))) path.push(join(javaHome, 'bin'));
  return { ...ownFile(), ...process.env, PATH: path.join(delimiter) };
}

/** `.env.local` holds the settings of this machine; the shell wins. Node before 20.12 cannot read such files. */
function ownFile() {
  const file = join(ROOT, '.env.local');
  return existsSync(file) && typeof util.parseEnv === 'function' ? util.parseEnv(readFileSync(file, 'utf8')) : {};
}
