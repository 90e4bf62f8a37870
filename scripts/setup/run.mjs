import { spawn } from 'node:child_process';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const ORPHAN_CHECK_MS = 500;
const EXIT_BY_SIGNAL = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129, SIGKILL: 137 };

/** Runs a program in our place: same terminal, every signal passed on, its exit status returned. */
export function runInForeground(command, args, env) {
  const child = spawn(command, args, { env: { ...env, KILN_PARENT_PID: String(process.pid) }, stdio: 'inherit' });
  // Whoever ends npm with SIGKILL means this as well. Without npm, a parent may go away and leave us running on purpose.
  if (process.env.npm_lifecycle_event !== undefined) whenOrphaned(() => child.kill('SIGTERM'));
  const pass = (signal) => child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, pass);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? EXIT_BY_SIGNAL[signal] ?? 1));
  });
}

function whenOrphaned(stop) {
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    stop();
  }, ORPHAN_CHECK_MS);
  watch.unref();
}

/** Runs a program silently; its output is in the error if it fails. */
export function runQuietly(command, args, options) {
  // A process group of its own: ending npm must end what npm started.
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (output += chunk));
  const end = (signal) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // It ended by itself.
    }
    process.exit(EXIT_BY_SIGNAL[signal]);
  };
  for (const signal of SIGNALS) process.on(signal, end);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      for (const signal of SIGNALS) process.off(signal, end);
      if (code === 0) resolve(output);
      else reject(new Error(`"${[command, ...args].join(' ')}" failed:\n${output.trim().split('\n').slice(0, 25).join('\n')}`));
    });
  });
}
