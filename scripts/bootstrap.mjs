/**
 * The door of every npm script: `node scripts/bootstrap.mjs <script> [arguments]`. It needs nothing but Node 20 and npm:
 * it checks what must be there, installs what is missing, and runs the script under the Node 24 that npm brought.
 * Plain JavaScript without dependencies, because it runs before anything is installed.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { installMissing } from './setup/install.mjs';
import { NODE_24, ROOT, environment } from './setup/places.mjs';
import { assertJava, assertNode } from './setup/requirements.mjs';
import { runInForeground } from './setup/run.mjs';

/** Scripts that never start an emulator, so that they do not ask for Java. */
const WITHOUT_JAVA = new Set(['kiln', 'build', 'generate-docs', 'generate-schemas', 'sim', 'mutation']);

async function main() {
  const [script, ...args] = process.argv.slice(2);
  const file = script === undefined ? undefined : join(ROOT, 'scripts', `${script}.ts`);
  if (file === undefined || !existsSync(file)) throw new Error(`There is no script "${script ?? ''}" in scripts/.`);
  assertNode();
  const env = environment();
  if (!WITHOUT_JAVA.has(script)) await assertJava(env);
  await installMissing(env);
  process.exitCode = await runInForeground(NODE_24, [file, ...args], env);
}

main().catch((error) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
