import { asObject, asString, type JsonObject } from '../services/json-fields.ts';

/** What the host needs to know of an exported function. */
export type DeployedFunction =
  | {
      readonly kind: 'document';
      readonly name: string;
      readonly region: string;
      readonly eventType: string;
      readonly document: string;
      readonly database: string;
      readonly namespace: string;
      readonly retry: boolean;
    }
  | { readonly kind: 'task' | 'schedule' | 'http' | 'callable'; readonly name: string; readonly region: string };

/** Parameters of the deployment stand in endpoints as expressions. */
function resolved(value: unknown): unknown {
  const expression = asObject(value);
  const { value: read } = (expression ?? {}) as { readonly value?: unknown };
  return typeof read === 'function' ? (Reflect.apply(read, value, []) as unknown) : value;
}

function text(value: unknown): string | undefined {
  return asString(resolved(value));
}

function regionOf(endpoint: JsonObject): string {
  const region = resolved(endpoint['region']);
  return text(Array.isArray(region) ? region[0] : region) ?? 'us-central1';
}

function documentFunction(name: string, region: string, trigger: JsonObject): DeployedFunction | undefined {
  const eventType = text(trigger['eventType']) ?? '';
  if (!eventType.startsWith('google.cloud.firestore.document.v1.')) return undefined;
  const filters = asObject(trigger['eventFilters']);
  const document = text(asObject(trigger['eventFilterPathPatterns'])?.['document']) ?? text(filters?.['document']);
  if (document === undefined) return undefined;
  return {
    kind: 'document',
    name,
    region,
    eventType,
    document,
    database: text(filters?.['database']) ?? '(default)',
    namespace: text(filters?.['namespace']) ?? '(default)',
    retry: resolved(trigger['retry']) === true,
  };
}

/** The functions among a module's exports, as `__endpoint` describes them for deployment; sorted by name. */
export function readManifest(exports: Readonly<Record<string, unknown>>): DeployedFunction[] {
  const found: DeployedFunction[] = [];
  for (const [name, exported] of Object.entries(exports)) {
    if (typeof exported !== 'function') continue;
    const endpoint = asObject((exported as { readonly __endpoint?: unknown }).__endpoint);
    if (endpoint === undefined) continue;
    const region = regionOf(endpoint);
    const trigger = asObject(endpoint['eventTrigger']);
    const document = trigger === undefined ? undefined : documentFunction(name, region, trigger);
    if (document !== undefined) found.push(document);
    else if (endpoint['taskQueueTrigger'] !== undefined) found.push({ kind: 'task', name, region });
    else if (endpoint['scheduleTrigger'] !== undefined) found.push({ kind: 'schedule', name, region });
    else if (endpoint['callableTrigger'] !== undefined) found.push({ kind: 'callable', name, region });
    else if (endpoint['httpsTrigger'] !== undefined) found.push({ kind: 'http', name, region });
  }
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}
