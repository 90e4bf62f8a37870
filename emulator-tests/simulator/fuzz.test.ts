import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Json } from '../../functions/src/engine/json.ts';
import { MemoryStore } from '../../functions/src/ledger/memory-store.ts';
import { publishWorkflow } from '../../functions/src/ledger/definitions.ts';
import { putHook, putHookInput } from '../../functions/src/ledger/hooks.ts';
import { KilnError } from '../../functions/src/model/errors.ts';
import { terminalRunStatuses } from '../../functions/src/model/run.ts';
import { isLive } from '../../functions/src/model/step.ts';
import { signWebhook } from '../../functions/src/services/webhooks/sign.ts';
import type { Action } from '../../functions/src/steps/action-registry.ts';
import { createStepRegistry } from '../../functions/src/steps/index.ts';
import { createTestKit } from '../../functions/src/testing/test-kit.ts';
import type { TestKit } from '../../functions/src/testing/test-kit.ts';
import { receiveHook } from '../../functions/src/triggers/hooks.ts';
import { generateDefinition } from './generate.ts';
import { SeededRandom } from './random.ts';
import { ACCOUNT, person } from './stage.ts';

/** From the outside in: whatever somebody publishes, starts or sends, nothing crashes, hangs, stays stuck or changes a prototype. */

/** Of processor time, so that a busy machine makes no difference. */
const HANG_MS = 1_000;
const YEAR = '366d';
const YEARS = 12;

function prototypeMembers(): string[] {
  return [Object.prototype, Array.prototype, String.prototype, Function.prototype].flatMap((of) => Object.getOwnPropertyNames(of));
}

/** No hang, and no prototype has changed. */
async function unharmed<T>(work: () => Promise<T>): Promise<T> {
  const before = process.cpuUsage();
  const members = prototypeMembers();
  const result = await work();
  const { user } = process.cpuUsage(before);
  expect(user / 1_000).toBeLessThan(HANG_MS);
  expect(prototypeMembers()).toEqual(members);
  return result;
}

const odd = fc.constantFrom<Json[]>(
  '__proto__',
  'constructor',
  '{{workflow_input}}',
  '{{workflow_input.items}}',
  '{{workflow_input.constructor.prototype}}',
  '{{workflow_input.__proto__ | default: 1}}',
  '{{step.s1}}',
  '{{step.s2 | default: "none"}}',
  '{{step.s3[0].x | default: null}}',
  '{{loop_item}}{{loop_index}}',
  '{{{{workflow_input.text}}}}',
  '{{',
  '\\{{x}}',
  'workflow_input.items.all(a, workflow_input.items.all(b, a == b))',
  'size(workflow_input) > 2',
  'step.s1 == null',
  '1 / 0 == 1',
  '0s',
  '1ms',
  '100y',
  '-1s',
  '',
  '𝒳\u0000',
  0,
  -1,
  0.1,
  1e308,
  null,
  true,
  [],
  {},
  [[]],
  { __proto__: null },
);
const value: fc.Arbitrary<Json> = fc.oneof(
  odd,
  fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' }).map((json) => json as Json),
);
const edit = fc.record({
  place: fc.nat(),
  kind: fc.constantFrom('fill' as const, 'fill' as const, 'replace' as const, 'remove' as const, 'copy' as const, 'add' as const),
  from: fc.nat(),
  key: fc.constantFrom('__proto__', 'constructor', 'onException', 'continueOnError', 'retry', 'timeout', 'steps', 'onError', 'limits', 'x'),
  value,
});
type Edit = typeof edit extends fc.Arbitrary<infer T> ? T : never;

/** Fields that take almost anything: what is put there is mostly published. */
const FREE: ReadonlySet<string> = new Set([
  'value',
  'v',
  'i',
  'deep',
  'from',
  'if',
  'items',
  'key',
  'title',
  'for',
  'timeout',
  'code',
  'n',
]);

interface Place {
  readonly holder: Record<string | number, unknown>;
  readonly key: string;
}

function placesOf(root: object): Place[] {
  const places: Place[] = [];
  const visit = (holder: object): void => {
    for (const key of Object.keys(holder)) {
      const found = holder as Record<string, unknown>;
      places.push({ holder: found, key });
      const inner = found[key];
      if (typeof inner === 'object' && inner !== null) visit(inner);
    }
  };
  visit(root);
  return places;
}

function put(holder: object, key: string, content: unknown): void {
  Object.defineProperty(holder, key, { value: content, enumerable: true, configurable: true, writable: true });
}

/** A workflow that was right, with something in it that nobody expects. */
function edited(seed: number, edits: readonly Edit[]): object {
  const root = structuredClone(
    generateDefinition('wf', new SeededRandom(seed), { deterministic: false, children: [], small: false }),
  ) as object;
  for (const { place, kind, from, key, value: content } of edits) {
    const everywhere = placesOf(root);
    const places = kind === 'fill' ? everywhere.filter(({ key: field }) => FREE.has(field)) : everywhere;
    const at = places[place % places.length];
    const source = places[from % places.length];
    if (at === undefined || source === undefined) continue;
    if (kind === 'replace' || kind === 'fill') put(at.holder, at.key, content);
    else if (kind === 'copy') put(at.holder, at.key, structuredClone(source.holder[source.key]));
    else if (kind === 'add') put(at.holder, Array.isArray(at.holder) ? '0' : key, content);
    else if (Array.isArray(at.holder)) at.holder.splice(Number(at.key), 1);
    else delete at.holder[at.key];
  }
  return root;
}

const anything = { safeParse: (data: unknown) => ({ success: true, data }) } as unknown as Action['input'];
const actions: readonly Action[] = ['keyed', 'charge'].map((name) => ({
  name,
  input: anything,
  output: anything,
  idempotent: name === 'keyed',
  run: (input) => ({ did: input as Json }),
}));

/** True when it was published; a refusal has to say what is wrong. */
async function publishes(definition: unknown): Promise<boolean> {
  const store = new MemoryStore(() => 1);
  const publisher = { store, types: createStepRegistry(), code: { pinned: () => undefined }, now: () => 1 };
  try {
    await publishWorkflow(publisher, { accountId: ACCOUNT, definition, publishedBy: 'fuzz' });
    return true;
  } catch (error) {
    if (!(error instanceof KilnError)) throw error;
    expect(error.code).toBe('definition.invalid');
    expect((error.data as { readonly problems: readonly unknown[] }).problems.length).toBeGreaterThan(0);
    return false;
  }
}

/** People decide, and time passes, until the run has ended. */
async function toItsEnd(kit: TestKit, input: unknown): Promise<string> {
  const run = await kit.start('wf', input);
  for (let year = 0; year < YEARS && !terminalRunStatuses.has(kit.run(run).status); year += 1) {
    for (const { approvalId, stepKey } of await kit.approvals(run)) {
      // One decision may end the requests beside it.
      const still = (await kit.approvals(run)).find((one) => one.approvalId === approvalId);
      if (still?.status === 'pending') await kit.decide(run, 'ann', 'approve', { step: stepKey });
    }
    await kit.advance(YEAR);
    await kit.reconcile();
  }
  const { status } = kit.run(run);
  if (terminalRunStatuses.has(status)) expect(kit.steps(run).filter(({ state }) => isLive(state))).toEqual([]);
  return status;
}

test('whatever is published comes to an end, with whatever input', { timeout: 3_000_000 }, async () => {
  let published = 0;
  let withEdits = 0;
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.array(edit, { maxLength: 3 }), value, async (seed, edits, input) => {
      const definition = edited(seed, edits);
      if (!(await unharmed(() => publishes(definition)))) return;
      published += 1;
      if (edits.length > 0) withEdits += 1;
      const kit = createTestKit({ definitions: { wf: definition }, actions, members: [person('ann')], accountId: ACCOUNT });
      await unharmed(async () => {
        const whole = typeof input === 'object' && input !== null && !Array.isArray(input) ? input : { n: 1, text: input, items: [1, 2] };
        expect(terminalRunStatuses).toContain(await toItsEnd(kit, whole));
      });
    }),
    { numRuns: Number(process.env['KILN_FUZZ_RUNS'] ?? 800) },
  );
  // It would prove nothing if pre-flight refused everything.
  expect(published).toBeGreaterThan(100);
  expect(withEdits).toBeGreaterThan(40);
});

test('whatever comes to a webhook is answered, and starts at most one run that ends', { timeout: 3_000_000 }, async () => {
  const key = `whsec_${Buffer.from('a signing key of thirty-two byte').toString('base64')}`;
  const header = fc.oneof(fc.string(), fc.constantFrom('', '1', 'v1,AAAA', '-1', '9'.repeat(40), '__proto__'));
  const body = fc.oneof(
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    value.map((json) => Buffer.from(JSON.stringify(json))),
    fc
      .constantFrom('{"__proto__":{"polluted":1}}', '[['.repeat(5_000), '"\ud800"', '{"a":1,"a":2}', '1e999', '-0')
      .map((text) => Buffer.from(text)),
  );
  const statuses = new Set<number>();
  await fc.assert(
    fc.asyncProperty(
      body,
      fc.boolean(),
      fc.dictionary(
        fc.constantFrom('webhook-id', 'webhook-timestamp', 'webhook-signature', 'content-type', 'kiln-chain-depth', '__proto__'),
        header,
      ),
      async (rawBody, signed, headers) => {
        const kit = createTestKit({
          definitions: { wf: [{ id: 'x', type: 'transform', value: '{{workflow_input}}' }] },
          services: { secrets: { get: (name) => (name === 'HOOK_KEY' ? key : undefined) } },
        });
        const hook = { hookId: 'in', scheme: { kind: 'standard' }, keys: ['HOOK_KEY'], target: { kind: 'start', workflowId: 'wf' } };
        await putHook(kit.runtime, { accountId: 'test', uid: 'ada' }, putHookInput.parse(hook));
        const own = signed ? signWebhook({ id: 'd1', timestamp: kit.now, body: rawBody.toString(), keys: [key] }) : {};
        const all = { ...headers, ...own };
        const { status } = await unharmed(() => receiveHook(kit.runtime, { accountId: 'test', hookId: 'in', headers: all, rawBody }));
        statuses.add(status);
        await kit.host.settle();
        const runs = [...kit.host.store.all()].filter(({ path }) => /^accounts\/test\/runs\/[^/]+$/.test(path));
        expect(runs).toHaveLength(status === 202 ? 1 : 0);
        for (const { data } of runs) expect(terminalRunStatuses).toContain(data['status']);
      },
    ),
    { numRuns: Number(process.env['KILN_FUZZ_RUNS'] ?? 400) },
  );
  for (const status of [202, 400, 401]) expect(statuses).toContain(status);
});
