/** The demo account and its people, as the seeding makes them and the demo and the web app's one-click sign-in use them. */
export const DEMO_ACCOUNT = 'demo';
export const DEMO_PASSWORD = 'kiln-demo';
export const DEMO_HOOK = { id: 'github', secretName: 'DEMO_HOOK_SECRET', secret: 'demo-hook-secret-for-this-machine-only' } as const;
/** Signs what the sample "support-triage" takes and sends. */
export const DEMO_DESK = {
  id: 'helpdesk',
  secretName: 'HELPDESK_WEBHOOK_KEY',
  secret: 'whsec_d29ydGggbm90aGluZzogdGhpcyBtYWNoaW5lIG9ubHk=',
} as const;

export interface DemoPerson {
  readonly uid: string;
  readonly email: string;
  readonly name: string;
  readonly roles: readonly ('viewer' | 'author' | 'operator' | 'approver' | 'admin')[];
  readonly departments: readonly string[];
  /** False: signed up, but a member of no account. */
  readonly member: boolean;
}

export const DEMO_PEOPLE: readonly DemoPerson[] = [
  {
    uid: 'demo-approver',
    email: 'approver@demo.kiln',
    name: 'Ada Approver',
    roles: ['approver'],
    departments: ['support', 'finance'],
    member: true,
  },
  {
    uid: 'demo-operator',
    email: 'operator@demo.kiln',
    name: 'Otto Operator',
    roles: ['operator', 'author'],
    departments: ['support'],
    member: true,
  },
  { uid: 'demo-admin', email: 'admin@demo.kiln', name: 'Amira Admin', roles: ['admin'], departments: [], member: true },
  { uid: 'demo-outsider', email: 'outsider@demo.kiln', name: 'Oskar Outsider', roles: [], departments: [], member: false },
];
