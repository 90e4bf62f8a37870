import { execFile } from 'node:child_process';

const MIN_NODE = 20;
const MIN_JAVA = 17;

export function assertNode(version = process.versions.node) {
  const major = Number(version.split('.')[0]);
  if (major >= MIN_NODE) return;
  throw new Error(
    `Kiln needs Node ${MIN_NODE} or newer to set itself up, and this is Node ${version}: install one from https://nodejs.org.`,
  );
}

/** "17.0.15", "21" and the old "1.8.0" as the number that people call the version. */
export function javaMajor(versionOutput) {
  const found = /version "(\d+)(?:\.(\d+))?/.exec(versionOutput);
  if (found === null) return undefined;
  return found[1] === '1' ? Number(found[2]) : Number(found[1]);
}

function javaVersionOutput(env) {
  return new Promise((resolve) => {
    execFile('java', ['-version'], { env }, (error, stdout, stderr) => resolve(error === null ? `${stderr}${stdout}` : ''));
  });
}

export async function assertJava(env) {
  const major = javaMajor(await javaVersionOutput(env));
  if (major !== undefined && major >= MIN_JAVA) return;
  const found = major === undefined ? 'none was found' : `this is Java ${major}`;
  throw new Error(
    `The Firestore emulator needs Java ${MIN_JAVA} or newer on PATH or in JAVA_HOME, and ${found}: ` +
      'install one from https://adoptium.net, with "apt-get install default-jre-headless" or with "brew install openjdk".',
  );
}
