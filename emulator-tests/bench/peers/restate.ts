import { freePort } from '../../../scripts/process/ports.ts';
import { installed, straight } from './engine.ts';
import type { Engine, Order, Place, StepResult } from './engine.ts';

interface Context {
  run(name: string, work: () => Promise<StepResult>): Promise<StepResult>;
}

interface Sdk {
  service(service: { name: string; handlers: Record<string, (context: Context, order: Order) => Promise<void>> }): object;
  serve(options: { services: object[]; port: number }): Promise<number>;
}

export async function restate({ folder, url, adminUrl }: Place): Promise<Engine> {
  const sdk = await installed<Sdk>(folder, '@restatedev/restate-sdk');
  const run = (context: Context, order: Order): Promise<void> => straight(order, (name, work) => context.run(name, work));
  const port = await sdk.serve({ services: [sdk.service({ name: 'straight', handlers: { run } })], port: await freePort() });
  await post(`${adminUrl ?? ''}/deployments`, { uri: `http://127.0.0.1:${port}` });
  return { perform: (order) => post(`${url}/straight/run`, order) };
}

async function post(url: string, body: object): Promise<void> {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text}`);
}
