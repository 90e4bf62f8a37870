/** Published list prices in us-central1, USD, November 2026: Firestore and Cloud Tasks price pages, Cloud Run functions price page. */
export const prices = {
  perWrite: 0.09 / 100_000,
  perRead: 0.03 / 100_000,
  perDelete: 0.01 / 100_000,
  perInvocation: 0.4 / 1_000_000,
  perTask: 0.4 / 1_000_000,
  perVcpuSecond: 0.000_024,
  perGibSecond: 0.000_002_5,
  /** Memory of an instance, as `index.ts` sets it. */
  gibPerInstance: 0.5,
} as const;

/** What a million steps cost elsewhere, USD, published. */
export const elsewhere = {
  'Google Cloud Workflows, internal steps': 10,
  'Google Cloud Workflows, external steps': 25,
  'AWS Step Functions Standard, transitions': 25,
  'Temporal Cloud, actions': '25 to 50',
} as const;
