/** Everything the deployment is told by its environment; `.env.<project>` and Secret Manager fill it. */
export interface Config {
  readonly project: string;
  readonly region: string;
  readonly emulated: boolean;
  /** host:port of the Cloud Tasks double. */
  readonly tasksEmulator: string | undefined;
  readonly functionsEmulator: string;
  /** Whose OIDC token doorbells carry. */
  readonly serviceAccount: string;
  readonly openaiApiKey: string | undefined;
  readonly openaiBaseUrl: string | undefined;
  readonly defaultModel: string | undefined;
  readonly embeddingModel: string | undefined;
  readonly sendgridApiKey: string | undefined;
  readonly mailBaseUrl: string | undefined;
  readonly mailFrom: string;
  readonly webUrl: string;
  readonly allowPrivateHosts: string | undefined;
  readonly metricsToken: string | undefined;
  /** Where traces go; without it none are made. */
  readonly otlpEndpoint: string | undefined;
  /** Counts database operations and logs them after each invocation; for the demo and benchmarks. */
  readonly countUsage: boolean;
  /** Names that `{{secret.NAME}}` may use. */
  readonly secretNames: readonly string[];
}

/** Kiln's own keys: functions get them under the same setting, but an author of workflows must not be able to send them anywhere. */
const OWN_SECRETS: ReadonlySet<string> = new Set(['OPENAI_API_KEY', 'SENDGRID_API_KEY', 'KILN_METRICS_TOKEN']);

export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const text = (name: string): string | undefined => (env[name] === undefined || env[name] === '' ? undefined : env[name]);
  const project = text('GCLOUD_PROJECT') ?? text('GOOGLE_CLOUD_PROJECT') ?? projectOf(text('FIREBASE_CONFIG')) ?? 'demo-kiln';
  return {
    project,
    region: text('KILN_REGION') ?? 'us-central1',
    emulated: text('FUNCTIONS_EMULATOR') === 'true' || text('FIRESTORE_EMULATOR_HOST') !== undefined,
    // firebase-tools overwrites CLOUD_TASKS_EMULATOR_HOST with its own Tasks emulator, which knows neither /v2 nor schedule times.
    tasksEmulator: text('KILN_TASKS_HOST') ?? (text('FIREBASE_EMULATOR_HUB') === undefined ? text('CLOUD_TASKS_EMULATOR_HOST') : undefined),
    functionsEmulator: text('KILN_FUNCTIONS_EMULATOR_HOST') ?? '127.0.0.1:5001',
    serviceAccount: text('KILN_SERVICE_ACCOUNT') ?? `${project}@appspot.gserviceaccount.com`,
    openaiApiKey: text('OPENAI_API_KEY'),
    openaiBaseUrl: text('OPENAI_BASE_URL'),
    defaultModel: text('KILN_DEFAULT_MODEL'),
    embeddingModel: text('KILN_EMBEDDING_MODEL'),
    sendgridApiKey: text('SENDGRID_API_KEY'),
    mailBaseUrl: text('KILN_MAIL_BASE_URL'),
    mailFrom: text('KILN_MAIL_FROM') ?? `kiln@${project}.firebaseapp.com`,
    webUrl: text('KILN_WEB_URL') ?? `https://${project}.web.app`,
    allowPrivateHosts: text('KILN_ALLOW_PRIVATE_HOSTS'),
    metricsToken: text('KILN_METRICS_TOKEN'),
    otlpEndpoint: text('OTEL_EXPORTER_OTLP_ENDPOINT'),
    countUsage: text('KILN_COUNT_USAGE') === 'true',
    secretNames: (text('KILN_SECRETS') ?? '')
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '' && !OWN_SECRETS.has(name)),
  };
}

function projectOf(firebaseConfig: string | undefined): string | undefined {
  if (firebaseConfig === undefined || !firebaseConfig.startsWith('{')) return undefined;
  const parsed: unknown = JSON.parse(firebaseConfig);
  return typeof parsed === 'object' && parsed !== null && 'projectId' in parsed && typeof parsed.projectId === 'string'
    ? parsed.projectId
    : undefined;
}
