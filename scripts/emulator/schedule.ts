import { PROJECT_ID } from '../root.ts';
import { SUITE_PORTS } from './suite.ts';

/** As deployed: `reconcile` is due each minute. */
const RECONCILE = 'us-central1-reconcile';
const EVERY_MS = 60_000;

/**
 * Calls the scheduled function as Cloud Scheduler would. The Functions emulator loads it and never calls it, since it leaves
 * schedules to a Pub/Sub emulator, which is one more download.
 */
export function ringSchedules(onProblem: (problem: string) => void): { stop(): void } {
  const timer = setInterval(() => {
    callReconcile().catch((error: unknown) => onProblem(`The reconciler could not be called: ${String(error)}`));
  }, EVERY_MS);
  return { stop: () => clearInterval(timer) };
}

let trigger = `${RECONCILE}-0`;

/** The emulator appends the number of times that it loaded the functions anew, and names what it knows when that is wrong. */
async function callReconcile(): Promise<void> {
  const first = await post(trigger);
  if (first.status !== 404) return assertOk(first);
  const known = new RegExp(`${RECONCILE}-\\d+`).exec(await first.text());
  if (known === null) throw new Error('the Functions emulator has not loaded it; see .cache/logs/emulators.log');
  trigger = known[0];
  return assertOk(await post(trigger));
}

function post(name: string): Promise<Response> {
  const url = `http://127.0.0.1:${SUITE_PORTS.functions}/functions/projects/${PROJECT_ID}/triggers/${name}`;
  return fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
}

async function assertOk(response: Response): Promise<void> {
  if (!response.ok) throw new Error(`status ${response.status}: ${(await response.text()).slice(0, 200)}`);
}
