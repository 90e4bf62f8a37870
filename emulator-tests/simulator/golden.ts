import { definitionSchema } from '../../functions/src/model/definition.ts';
import type { Act } from './programs.ts';
import type { Scenario } from './scenario.ts';

type Step = Readonly<Record<string, unknown>>;

const t = (id: string, value: unknown = id): Step => ({ id, type: 'transform', value });
const keyed = (id: string, v: unknown = id): Step => ({
  id,
  type: 'action',
  action: 'keyed',
  inputs: { v },
  timeout: '20s',
  retry: { maxAttempts: 100 },
});
const fail = (id: string, more: Step = {}): Step => ({ id, type: 'fail', code: 'alpha', ...more });
const approval = (id: string): Step => ({
  id,
  type: 'approval',
  title: id,
  approvers: { users: ['ann', 'bob', 'cid'] },
  fourEyes: false,
  deadline: '300d',
  quorum: { quorum: 2 },
});
const event = (id: string): Step => ({ id, type: 'wait', event: { name: `ev-${id}` }, timeout: '300d' });
const call = (name: string): Act => ({ do: 'call', name, system: 'keyed', value: name });

function graph(steps: readonly Step[], more: Step = {}, child: readonly Step[] = [t('c')]): Scenario {
  const main = definitionSchema.parse({ id: 'main', steps, timeout: '30d', ...more });
  return scenario({ definitions: [main, definitionSchema.parse({ id: 'child', steps: child, timeout: '30d' })], programs: [] });
}

function code(acts: readonly Act[]): Scenario {
  return scenario({
    definitions: [],
    programs: [
      { id: 'main', acts },
      { id: 'child', acts: [call('c1'), call('c2')] },
    ],
  });
}

function scenario(parts: Pick<Scenario, 'definitions' | 'programs'>): Scenario {
  const wish = { accountId: 'acme', workflowId: 'main', runId: 'run0', input: { n: 3, text: 'x', items: [0, 10, 20] } };
  return { deterministic: true, accounts: ['acme'], wishes: [wish], onError: 'fail', halts: false, punctual: false, ...parts };
}

/** Small workflows, one for each thing that can be interrupted. Their outcome is known, so every single fault can be tried. */
export const golden: Readonly<Record<string, Scenario>> = {
  'straight line': graph([t('a'), keyed('b'), t('c', '{{step.b}}')]),
  'condition both ways': graph([
    { id: 'c', type: 'condition', if: 'workflow_input.n > 2', then: [keyed('yes')], else: [t('no')] },
    { id: 'd', type: 'condition', if: 'workflow_input.n > 9', then: [t('never')] },
    t('end'),
  ]),
  'loop in order': graph([
    {
      id: 'l',
      type: 'loop',
      over: { source: 'workflowInput', path: 'items' },
      steps: [keyed('x', '{{loop_item}}'), t('y', '{{loop_index}}')],
    },
  ]),
  'loop in lanes': graph([
    { id: 'l', type: 'loop', concurrency: 3, over: { source: 'workflowInput', path: 'items' }, steps: [keyed('x', '{{loop_item}}')] },
  ]),
  'wide loop': graph([
    {
      id: 'l',
      type: 'loop',
      concurrency: 20,
      over: { source: 'static', items: Array.from({ length: 18 }, (_, i) => i) },
      steps: [t('x', '{{loop_item}}')],
    },
  ]),
  'parallel, one branch fails': graph([
    { id: 'p', type: 'parallel', branches: { left: [keyed('a'), t('b')], right: [fail('f')] } },
    t('end', '{{step.p}}'),
  ]),
  'exception path': graph([fail('f', { onException: { alpha: [keyed('plan'), t('b')] } }), t('end')]),
  'loop fails early': graph([
    {
      id: 'l',
      type: 'loop',
      concurrency: 2,
      over: { source: 'static', items: [1, 2, 3] },
      steps: [t('x'), fail('f')],
      onException: { '*': [keyed('plan')] },
    },
    t('end'),
  ]),
  'waits and events': graph([{ id: 'w', type: 'wait', for: '9d' }, event('e'), { id: 'v', type: 'wait', for: '1s' }]),
  'approval in a branch': graph([
    { id: 'p', type: 'parallel', branches: { left: [approval('a')], right: [keyed('b'), approval('c')] } },
    t('end'),
  ]),
  'child run': graph(
    [{ id: 's', type: 'subworkflow', workflow: 'child', inputs: { n: 1, text: 'child', items: [1] } }, t('end', '{{step.s}}')],
    {},
    [keyed('c1'), t('c2')],
  ),
  'code: straight line': code([call('a'), { do: 'sleep', name: 'b', for: '9d' }, { do: 'count', name: 'c' }, call('d')]),
  'code: side by side': code([
    {
      do: 'all',
      branches: [
        [call('a'), call('b')],
        [{ do: 'count', name: 'c' }],
        [{ do: 'try', body: [{ do: 'fail', name: 'f', code: 'alpha' }], caught: [call('g')] }],
      ],
    },
  ]),
  'code: many at once': code([{ do: 'all', branches: Array.from({ length: 10 }, (_, i) => [call(`m${i}`)]) }]),
  'code: people, events and a child': code([
    { do: 'event', name: 'e', key: true, timeout: '300d' },
    { do: 'approval', name: 'a', quorum: 2, deadline: '300d' },
    { do: 'invoke', name: 'i', workflow: 'child', n: 1 },
  ]),
};
