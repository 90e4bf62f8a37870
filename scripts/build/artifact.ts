import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startChild } from '../process/child.ts';
import { CACHE, ROOT } from '../root.ts';

export interface Artifact {
  readonly name: string;
  /** Files and folders, relative to the root, that its content depends on. */
  readonly inputs: readonly string[];
  /** The folder that the build fills; emptied before. */
  readonly output: string;
  readonly npmFolder: string;
}

export const FUNCTIONS: Artifact = {
  name: 'functions',
  inputs: ['functions/src', 'functions/tsconfig.json', 'functions/package-lock.json', 'tsconfig.json', 'package-lock.json'],
  output: 'functions/lib',
  npmFolder: 'functions',
};

/** The web app shares the schemas of `functions/src/model`. */
export const WEB: Artifact = {
  name: 'web',
  inputs: [
    'web/src',
    'web/public',
    'web/index.html',
    'web/vite.config.ts',
    'web/postcss.config.mjs',
    'web/tsconfig.json',
    'web/package-lock.json',
    'functions/src/model',
    'functions/src/engine',
  ],
  output: 'web/dist',
  npmFolder: 'web',
};

function* filesBelow(path: string): Generator<string> {
  if (!existsSync(path)) return;
  if (!statSync(path).isDirectory()) {
    yield path;
    return;
  }
  for (const entry of readdirSync(path, { withFileTypes: true, recursive: true })) {
    if (entry.isFile() && !/\.test\.[cm]?[jt]sx?$/.test(entry.name)) yield join(entry.parentPath, entry.name);
  }
}

function hashOf(inputs: readonly string[]): string {
  const hash = createHash('sha256');
  for (const input of inputs) {
    for (const file of [...filesBelow(join(ROOT, input))].toSorted())
      hash.update(file).update('\0').update(readFileSync(file)).update('\0');
  }
  return hash.digest('hex');
}

/** Builds unless the last build came from the very same inputs. False: nothing was to be done. */
export async function build(artifact: Artifact): Promise<boolean> {
  const stamp = join(CACHE, 'builds', artifact.name);
  const output = join(ROOT, artifact.output);
  const hash = hashOf(artifact.inputs);
  if (existsSync(output) && existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return false;
  rmSync(stamp, { force: true });
  // A file whose source is gone must not be served or deployed.
  rmSync(output, { recursive: true, force: true });
  const child = startChild(`the build of ${artifact.name}`, 'npm', ['--prefix', artifact.npmFolder, 'run', 'build'], { cwd: ROOT });
  const { code } = await child.exited;
  if (code !== 0) throw new Error(`The build of ${artifact.name} failed:\n${child.tail()}`);
  mkdirSync(join(CACHE, 'builds'), { recursive: true });
  writeFileSync(stamp, hash);
  return true;
}

export function isThere(artifact: Artifact): boolean {
  return existsSync(join(ROOT, artifact.inputs[0] ?? artifact.npmFolder));
}
