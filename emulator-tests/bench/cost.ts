import type { Installation } from '../installation.ts';
import { counted, per } from './measure.ts';
import type { Counted } from './measure.ts';
import { fixed, items, list, noop, overItems, transform } from './parts.ts';
import type { PartResult } from './parts.ts';
import { prices } from './prices.ts';

/** A workflow of n units: its steps, its input, and what people do meanwhile. */
interface Kind {
  readonly name: string;
  readonly steps: (n: number) => object[];
  readonly input?: (n: number) => object;
  readonly meanwhile?: (kiln: Installation, runId: string) => Promise<void>;
}

const loop = (concurrency: number) => (): object[] => [{ id: 'each', type: 'loop', concurrency, over: overItems, steps: [noop('x')] }];

const kinds: Readonly<Record<string, Kind>> = {
  action: { name: 'effectful step (no-op action)', steps: (n) => list(n, noop) },
  transform: { name: 'bookkeeping step (transform)', steps: (n) => list(n, transform) },
  condition: {
    name: 'condition with one step in its branch',
    steps: (n) => list(n, (id) => ({ id, type: 'condition', if: 'true', then: [transform(`${id}t`)] })),
  },
  retry: {
    name: 'effectful step that fails once and is tried again',
    steps: (n) =>
      list(n, (id) => ({
        id,
        type: 'action',
        action: 'test.call',
        inputs: { step: { source: 'static', value: id } },
        retry: { maxAttempts: 2, baseMs: 10, jitter: 'none' },
      })),
  },
  wait: { name: 'wait of a second', steps: (n) => list(n, (id) => ({ id, type: 'wait', for: '1s' })) },
  approval: {
    name: 'approval by one person, asked and decided',
    steps: (n) => list(n, (id) => ({ id, type: 'approval', title: id, approvers: { users: ['ann'] } })),
    meanwhile: async (kiln, runId) => {
      for (;;) {
        await kiln.host.idle();
        const [request] = await kiln.approvalOf(runId);
        if (request === undefined) return;
        await kiln.decide(request, 'ann', 'approve');
      }
    },
  },
  loop1: { name: 'iteration of a sequential loop, one action', steps: loop(1), input: items },
  loop10: { name: 'iteration in lanes of 10, one action', steps: loop(10), input: items },
  parallel: {
    name: 'parallel of two branches and their join, one transform each',
    steps: (n) => list(n, (id) => ({ id, type: 'parallel', branches: { a: [transform(`${id}a`)], b: [transform(`${id}b`)] } })),
  },
};

const [SHORT, LONG] = [4, 14];

/** What each kind of step takes, as the difference between a long and a short workflow. */
export async function cost(kiln: Installation): Promise<PartResult> {
  const measured: Record<string, Counted> = {};
  for (const [id, kind] of Object.entries(kinds)) measured[id] = await unitOf(kiln, id, kind);
  const [effectful, bookkeeping] = [measured['action'], measured['transform']];
  if (effectful === undefined || bookkeeping === undefined) throw new Error('nothing was measured');
  const rows = Object.entries(kinds).map(([id, { name }]) => {
    const used = measured[id] ?? effectful;
    const [writes, reads, invocations, tasks] = ([used.writes, used.reads, used.invocations, used.tasks] as const).map((n) => fixed(n));
    const priced = pricesOf(used);
    const whole = Object.values(priced).reduce((sum, usd) => sum + usd, 0);
    return [name, ...[writes, reads, tasks, invocations].map(String), ...Object.values(priced).map(dollars), dollars(whole)];
  });
  return {
    title: 'Cost of a step, counted at the wire; USD per million, us-central1, without the model',
    notes: ['Compute is charged as if each event had a processor of its own for as long as it was under way here.'],
    rows: [['step', 'writes', 'reads', 'tasks', 'invocations', 'documents', 'calls and tasks', 'compute', 'together'], ...rows],
    figures: {
      'cost.effectful.writes': effectful.writes,
      'cost.effectful.reads': effectful.reads,
      'cost.effectful.usdPerMillion': Object.values(pricesOf(effectful)).reduce((sum, usd) => sum + usd, 0),
      'cost.bookkeeping.writes': bookkeeping.writes,
      'cost.bookkeeping.reads': bookkeeping.reads,
    },
  };
}

async function unitOf(kiln: Installation, id: string, { steps, input = () => ({}), meanwhile }: Kind): Promise<Counted> {
  const measured: Counted[] = [];
  kiln.target.answer = (_, nth) => (nth === 1 ? { status: 503 } : {});
  for (const n of [SHORT, LONG]) {
    const workflow = `cost-${id}-${n}`;
    await kiln.publish(workflow, { steps: steps(n), limits: { maxSteps: 100_000 } });
    for (const counts of [false, true]) {
      const work = async (): Promise<void> => {
        const runId = await kiln.start(workflow, input(n) as never);
        await meanwhile?.(kiln, runId);
        const { status } = await kiln.ended(runId);
        if (status !== 'completed') throw new Error(`the run of ${workflow} is ${status}`);
      };
      if (counts) measured.push(await counted(kiln, work));
      else await work();
    }
  }
  const [a, b] = measured;
  if (a === undefined || b === undefined) throw new Error('nothing was measured');
  return per(b, a, LONG - SHORT);
}

/** Per million. An instance works on many events at once; here each is charged a whole processor for as long as it is under way. */
function pricesOf(used: Counted): { documents: number; calls: number; compute: number } {
  const documents = used.writes * prices.perWrite + used.reads * prices.perRead + used.deletes * prices.perDelete;
  const calls = used.invocations * prices.perInvocation + used.tasks * prices.perTask;
  const seconds = used.busyMs / 1_000;
  const compute = seconds * (prices.perVcpuSecond + prices.gibPerInstance * prices.perGibSecond);
  return { documents: documents * 1e6, calls: calls * 1e6, compute: compute * 1e6 };
}

function dollars(usd: number): string {
  return `$${fixed(usd)}`;
}
