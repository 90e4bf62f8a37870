/** The whole of Kiln on this machine, as `npm start` and `npm run demo` need it. */
import { pinnedPorts, startServices, type Services } from '../emulator-tests/services/index.ts';
import { buildAll } from './build.ts';
import { localEnvironment, ownSettings } from './emulator/environment.ts';
import { firestoreJar } from './emulator/firestore-jar.ts';
import { ringSchedules } from './emulator/schedule.ts';
import { SUITE_PORTS, startSuite, type Suite } from './emulator/suite.ts';
import { describeHolders, portHolders } from './process/ports.ts';
import { say, step } from './progress.ts';

export interface Local {
  readonly services: Services;
  readonly suite: Suite;
  readonly realModel: boolean;
  readonly realMail: boolean;
  close(): Promise<void>;
}

async function assertPortsFree(): Promise<void> {
  const holders = await portHolders([...Object.values(SUITE_PORTS), ...Object.values(pinnedPorts)]);
  if (holders.length === 0) return;
  const pids = [...new Set(holders.flatMap(({ pid }) => pid ?? []))];
  const advice = pids.length === 0 ? 'End what uses them' : `End what uses them (kill ${pids.join(' ')})`;
  throw new Error(`${describeHolders(holders)}\n${advice} and start again.`);
}

/** A warning or an error of the emulators, or a log line of the functions; the rest is in the log file. */
function isWorthSaying(line: string): boolean {
  return /^\s*(⚠|✖|!|>)/.test(line) && !EXPECTED.some((known) => known.test(line));
}

/** Warnings that are true and of no use to the reader. */
const EXPECTED = [
  /kiln usage \{/,
  /callable-request-verification/,
  /Env variable override detected/,
  /Emulator UI/,
  /CLI MOTD/,
  /support for Java version < 21/,
  /not currently authenticated/,
  /credential/i,
];

export async function startLocal(): Promise<Local> {
  // What can be missing is told before anything takes time.
  firestoreJar();
  await assertPortsFree();
  await buildAll();
  const services = await step('Starting the local services', () => startServices({ ports: pinnedPorts }));
  const { env, realModel, realMail } = localEnvironment(ownSettings(), services.env);
  const suite = await step('Starting the emulators', () =>
    startSuite(env, (line) => {
      if (isWorthSaying(line)) say(line);
    }),
  );
  const schedules = ringSchedules(say);
  const close = async (): Promise<void> => {
    schedules.stop();
    await suite.stop();
    await services.close();
  };
  return { services, suite, realModel, realMail, close };
}
