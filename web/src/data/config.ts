/** The Firebase configuration comes from Hosting, so that one build serves every project and the emulators. */

export interface WebConfig {
  readonly projectId: string;
  readonly apiKey: string;
  readonly authDomain?: string;
  readonly appId?: string;
  readonly messagingSenderId?: string;
  readonly storageBucket?: string;
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface Environment {
  readonly firebase: WebConfig;
  /** Present on demo projects only. */
  readonly emulators?: { readonly firestore: Address; readonly auth: Address; readonly functions: Address };
  readonly region: string;
}

const DEMO = 'demo-';

function address(value: unknown, host: string, port: number): Address {
  if (typeof value !== 'string') return { host, port };
  const [name, number] = value.split(':');
  return { host: name === undefined || name === '' ? host : name, port: Number(number ?? port) };
}

/** Reads the answer of `/__/firebase/init.json`; `host` is where the emulators are looked for when it names none. */
export function environmentOf(init: Record<string, unknown>, host: string): Environment {
  const text = (name: string): string | undefined => (typeof init[name] === 'string' ? init[name] : undefined);
  const projectId = text('projectId') ?? '';
  if (projectId === '') throw new Error('/__/firebase/init.json names no project');
  const firebase: WebConfig = { ...(init as Partial<WebConfig>), projectId, apiKey: text('apiKey') ?? 'demo' };
  const region = text('region') ?? 'us-central1';
  if (!projectId.startsWith(DEMO)) return { firebase, region };
  const named = (typeof init['emulators'] === 'object' && init['emulators'] !== null ? init['emulators'] : {}) as Record<string, unknown>;
  return {
    firebase,
    region,
    emulators: {
      firestore: address(named['firestore'], host, 8080),
      auth: address(named['auth'], host, 9099),
      functions: address(named['functions'], host, 5001),
    },
  };
}

export async function loadEnvironment(): Promise<Environment> {
  const answer = await fetch('/__/firebase/init.json');
  const json = answer.headers.get('content-type')?.includes('json') === true;
  if (!answer.ok || !json)
    throw new Error(`/__/firebase/init.json answered ${answer.status}. Serve the app through Firebase Hosting or its emulator.`);
  return environmentOf((await answer.json()) as Record<string, unknown>, location.hostname);
}
