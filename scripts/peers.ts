/** `npm run bench -- peers`: the same straight workflow on other durable engines, each set up in a temporary folder. */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { kilnRun, median, stepTimes, watchedChain } from '../emulator-tests/bench/measure.ts';
import type { Figures, PartResult } from '../emulator-tests/bench/parts.ts';
import { AT_ONCE, LONG, ROUNDS, SHORT, measured } from '../emulator-tests/bench/peers/engine.ts';
import type { Place, Samples } from '../emulator-tests/bench/peers/engine.ts';
import { stepsInARow } from '../emulator-tests/bench/steps-in-a-row.ts';
import type { Installation } from '../emulator-tests/installation.ts';
import { untilReady } from './emulator/ready.ts';
import { startChild } from './process/child.ts';
import type { Child } from './process/child.ts';
import { freePort } from './process/ports.ts';

interface Started {
  readonly place: Place;
  readonly server?: Child;
  /** The version of a server that npm did not bring. */
  readonly serverVersion?: string;
}

interface Peer {
  readonly key: 'dbos' | 'restate' | 'openworkflow';
  readonly name: string;
  readonly packages: Readonly<Record<string, string>>;
  readonly needs: string;
  start(folder: string): Started | Promise<Started>;
}

const PEERS: readonly Peer[] = [
  {
    key: 'dbos',
    name: 'DBOS',
    packages: { '@dbos-inc/dbos-sdk': '5.3.0' },
    needs: 'your process and a PostgreSQL server',
    start: startPostgres,
  },
  {
    key: 'restate',
    name: 'Restate',
    packages: { '@restatedev/restate-server': '1.7.12', '@restatedev/restate-sdk': '1.17.2' },
    needs: 'the Restate server with its disk, and an endpoint of yours that it calls',
    start: startRestate,
  },
  {
    key: 'openworkflow',
    name: 'OpenWorkflow',
    packages: { openworkflow: '0.10.1' },
    needs: 'your worker process and its disk (SQLite), on one machine',
    start: (folder) => ({ place: { folder, url: join(folder, 'openworkflow.db') } }),
  },
];

const MEASURE = fileURLToPath(new URL('../emulator-tests/bench/peers/main.ts', import.meta.url));
const LIMIT_MS = 600_000;
const THOUSAND = LONG.toLocaleString('en');
/** Debian's PostgreSQL package makes it; PostgreSQL refuses to run as root. */
const POSTGRES_USER = 'postgres';

export async function peers(kiln: Installation): Promise<PartResult> {
  const root = mkdtempSync(join(tmpdir(), 'kiln-peers-'));
  process.once('exit', () => rmSync(root, { recursive: true, force: true }));
  // PostgreSQL's own user must be able to reach its folder in here.
  chmodSync(root, 0o711);
  const figures: Figures = {};
  const failures: string[] = [];
  const rows = [['engine', `ms a step, ${SHORT} steps`, `ms a step, ${THOUSAND} steps`, 'steps/s', 'load', 'versions', 'what must run']];
  const add = (key: string, samples: Samples, name: string, versions: string, needs: string): void => {
    for (const [figure, values] of Object.entries(samples)) figures[`peers.${key}.${figure}`] = median(values as readonly number[]);
    const { msPerStep, msPerStep1000, stepsPerSecond } = samples;
    const times = [median(msPerStep).toFixed(1), median(msPerStep1000).toFixed(1), median(stepsPerSecond).toFixed(0)];
    rows.push([name, ...times, (loadavg()[0] ?? Number.NaN).toFixed(1), versions, needs]);
  };
  add('floor', await measuredFloor(kiln), 'Floor: a trigger and one compare-and-set a step', '', 'nothing of yours');
  add('kiln', await measuredKiln(kiln), 'Kiln, code workflow', '', 'nothing of yours');
  for (const peer of PEERS) {
    process.stderr.write(`  ${peer.name} …\n`);
    const versions = Object.entries(peer.packages).map(([name, version]) => `${name} ${version}`);
    try {
      const { samples, serverVersion } = await measuredPeer(peer, join(root, peer.key));
      const all = serverVersion === undefined ? versions : [...versions, serverVersion];
      add(peer.key, samples, peer.name, all.join(', '), peer.needs);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      rows.push([peer.name, 'not measured', '', '', '', versions.join(', '), peer.needs]);
      failures.push(`${peer.name} could not be measured on this machine: ${reason.replaceAll(/\s+/g, ' ')}`);
    }
  }
  return {
    title: `Peers: the same straight workflow of steps that do nothing and return a small result; steps/s of ${AT_ONCE} runs × ${SHORT} steps at once`,
    rows,
    figures,
    notes: [...failures, ...notes(figures)],
  };
}

function measuredFloor(kiln: Installation): Promise<Samples> {
  let chains = 0;
  const chain = (steps: number): Promise<number> => watchedChain(kiln, `peers${(chains += 1)}`, steps);
  return measured(async (steps) => (await chain(steps)) / steps, chain);
}

function measuredKiln(kiln: Installation): Promise<Samples> {
  return measured(
    async (steps) => {
      const { runId } = await kilnRun(kiln, stepsInARow, { steps });
      const { gaps } = await stepTimes(kiln, runId);
      return gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    },
    (steps) => kilnRun(kiln, stepsInARow, { steps }),
  );
}

async function measuredPeer(peer: Peer, folder: string): Promise<{ samples: Samples; serverVersion: string | undefined }> {
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: peer.packages }));
  await finished(
    startChild('npm install', 'npm', ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder }),
  );
  const { place, server, serverVersion } = await peer.start(folder);
  try {
    const env = { RESTATE_LOGGING: 'ERROR' };
    const program = startChild(peer.name, process.execPath, [MEASURE, peer.key, JSON.stringify(place)], { cwd: folder, env });
    return { samples: JSON.parse(await finished(program)) as Samples, serverVersion };
  } finally {
    await server?.stop();
  }
}

/** The last line of a program that ended well. */
async function finished(child: Child): Promise<string> {
  let last = '';
  child.onLine((line) => void (last = line));
  const limit = setTimeout(() => void child.stop('SIGKILL'), LIMIT_MS);
  const { code, signal } = await child.exited;
  clearTimeout(limit);
  if (code !== 0) throw new Error(`${child.name} ended with ${signal ?? code}: ${child.tail()}`);
  return last;
}

async function startPostgres(folder: string): Promise<Started> {
  const bin = postgresPrograms();
  const data = join(folder, 'data');
  mkdirSync(data, { mode: 0o700 });
  const asRoot = process.getuid?.() === 0;
  if (asRoot) execFileSync('chown', [POSTGRES_USER, data]);
  const program = (name: string, args: readonly string[]): Child => {
    const drop = ['setpriv', `--reuid=${POSTGRES_USER}`, `--regid=${POSTGRES_USER}`, '--clear-groups'];
    // SIGTERM would wait for its clients.
    return startChild(name, 'env', [...(asRoot ? drop : []), join(bin, name), '-D', data, ...args], { cwd: data, stopSignal: 'SIGINT' });
  };
  await finished(program('initdb', ['--auth=trust', '--username=peers', '--no-locale', '--encoding=UTF8']));
  const port = await freePort();
  const server = program('postgres', ['-k', data, '-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-c', 'fsync=on']);
  await Promise.race([
    new Promise<void>((resolve) => {
      server.onLine((line) => void (line.includes('ready to accept connections') && resolve()));
    }),
    server.exited.then(() => Promise.reject(new Error(`PostgreSQL ended before it was ready: ${server.tail()}`))),
  ]);
  const version = execFileSync(join(bin, 'postgres'), ['--version'], { encoding: 'utf8' }).trim();
  return { place: { folder, url: `postgresql://peers@127.0.0.1:${port}/peers` }, server, serverVersion: version };
}

function postgresPrograms(): string {
  const debian = '/usr/lib/postgresql';
  const newest = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [...newest.map((version) => join(debian, version, 'bin')), ...(process.env['PATH'] ?? '').split(':')];
  const found = folders.find((folder) => existsSync(join(folder, 'initdb')));
  if (found === undefined) throw new Error('PostgreSQL is not installed (Debian: apt-get install postgresql)');
  return found;
}

async function startRestate(folder: string): Promise<Started> {
  const [ingress, admin, node] = [await freePort(), await freePort(), await freePort()];
  const server = startChild(
    'restate-server',
    join(folder, 'node_modules', '.bin', 'restate-server'),
    ['--no-logo', '--listen-mode', 'tcp'],
    {
      cwd: folder,
      env: {
        RESTATE_BASE_DIR: join(folder, 'data'),
        RESTATE_BIND_IP: '127.0.0.1',
        RESTATE_BIND_PORT: String(node),
        RESTATE_INGRESS__BIND_PORT: String(ingress),
        RESTATE_ADMIN__BIND_PORT: String(admin),
        RESTATE_DISABLE_TELEMETRY: 'true',
        RESTATE_LOG_FILTER: 'error',
      },
    },
  );
  const place: Place = { folder, url: `http://127.0.0.1:${ingress}`, adminUrl: `http://127.0.0.1:${admin}` };
  for (const url of [place.adminUrl, place.url]) await untilReady(server, `${url ?? ''}/health`);
  return { place, server };
}

function notes(figures: Figures): string[] {
  const ratios = (figure: keyof Samples): string =>
    PEERS.flatMap(({ key, name }) => {
      const [own, theirs] = [figures[`peers.kiln.${figure}`], figures[`peers.${key}.${figure}`]];
      return own === undefined || theirs === undefined ? [] : [`${(own / theirs).toFixed(2)} × ${name}'s`];
    }).join(', ');
  return [
    `A step's time is from its beginning to the next one's: median of ${ROUNDS.short} runs of ${SHORT} steps, and of ${ROUNDS.long} runs of ${THOUSAND}, after ${ROUNDS.warm} to warm up. Steps/s: ${AT_ONCE} runs of ${SHORT} steps at once, from the first request to the last end, median of ${ROUNDS.rate}. The engines ran one after the other, so that "load", the machine's one-minute load average at the end of each, tells whether they had the same machine. Settings are the defaults, but for OpenWorkflow's worker, which takes ${AT_ONCE} runs at once and is asked directly whether a run has ended, and for quieter logs. PostgreSQL, SQLite and Restate sync each step to this disk; the Firestore emulator, under the floor and Kiln, keeps documents in memory.`,
    ...(ratios('msPerStep') === ''
      ? []
      : [
          `In this run Kiln's time from step to step was ${ratios('msPerStep')} over ${SHORT} steps and ${ratios('msPerStep1000')} over ${THOUSAND}; its steps per second were ${ratios('stepsPerSecond')}. These ratios compare a disk with an emulator in memory and do not carry over to a deployed project.`,
        ]),
    'Where they are faster, this is why: their run stays in a process that is running anyway, and a step is a write to a database beside it (DBOS one, OpenWorkflow two, Restate a message to its server, which appends it to its log). Nothing is triggered between two steps. A step of Kiln ends with a commit, whose event starts the function that takes the next step; the floor shows what that hop alone takes here. In a deployed project the event travels through Eventarc and the commit through replicated Firestore; neither was measured here.',
    'What they need that Kiln does not: DBOS a PostgreSQL server and a process of yours; Restate its server with a disk, and an endpoint of yours, a process or a serverless function; OpenWorkflow a process of yours and its disk. These servers and processes also run while a run waits, somebody keeps them up, and runs stand still while they are down. Kiln needs a Firebase project; nothing of yours runs between two steps or while a run waits.',
  ];
}
