import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NODE_24, ROOT } from './places.mjs';
import { runQuietly } from './run.mjs';

/** A package below the root that has a lockfile is installed; `rebuild` names the packages whose install scripts are needed. */
const ROOT_PACKAGE = { folder: '.', rebuild: ['node'] };
const OTHER_PACKAGES = [
  { folder: 'functions', rebuild: [] },
  { folder: 'web', rebuild: [] },
];

/**
 * Install scripts stay off: the only one that is needed brings Node 24, and one of the others compiles C++ for minutes. The
 * root comes first, because functions/ must be installed with Node 24: under Node 20 npm drops optional parts of firebase-admin.
 */
export async function installMissing(env) {
  if (needsInstall(ROOT_PACKAGE) || !existsSync(NODE_24)) await install(ROOT_PACKAGE, env);
  await Promise.all(OTHER_PACKAGES.filter(needsInstall).map((one) => install(one, env)));
}

function lockfile(one) {
  return join(ROOT, one.folder, 'package-lock.json');
}

function stampFile(one) {
  return join(ROOT, one.folder, 'node_modules', '.cache', 'kiln-installed');
}

function lockHash(one) {
  return createHash('sha256')
    .update(readFileSync(lockfile(one)))
    .digest('hex');
}

function needsInstall(one) {
  if (!existsSync(lockfile(one))) return false;
  const stamp = stampFile(one);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lockHash(one)) return false;
  if (!installedByHand(one)) return true;
  writeStamp(one);
  return false;
}

/** True where somebody ran `npm install`: npm's own record of node_modules holds every package of the lockfile. */
function installedByHand(one) {
  const record = join(ROOT, one.folder, 'node_modules', '.package-lock.json');
  if (!existsSync(record)) return false;
  const wanted = JSON.parse(readFileSync(lockfile(one), 'utf8')).packages ?? {};
  const installed = JSON.parse(readFileSync(record, 'utf8')).packages ?? {};
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true;
    const there = installed[path];
    return there === undefined ? entry.optional === true : there.version === entry.version;
  });
}

function writeStamp(one) {
  mkdirSync(join(stampFile(one), '..'), { recursive: true });
  writeFileSync(stampFile(one), lockHash(one));
}

async function install(one, env) {
  const name = one.folder === '.' ? 'the tools' : `${one.folder}/`;
  const startedAt = Date.now();
  process.stdout.write(`Installing ${name} …\n`);
  const ticking = setInterval(() => {
    process.stdout.write(`Installing ${name} … ${Math.round((Date.now() - startedAt) / 1000)} s\n`);
  }, 15_000);
  try {
    const cwd = join(ROOT, one.folder);
    await runQuietly('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'], { cwd, env });
    for (const dependency of one.rebuild) await runQuietly('npm', ['rebuild', dependency, '--loglevel=error'], { cwd, env });
    writeStamp(one);
    process.stdout.write(`Installed ${name} in ${((Date.now() - startedAt) / 1000).toFixed(1)} s\n`);
  } finally {
    clearInterval(ticking);
  }
}
