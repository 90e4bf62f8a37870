import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { paths } from '../model/paths.ts';
import { operationFollowers } from '../runner/followers.ts';
import { defineAction } from '../steps/action-registry.ts';
import { ACCOUNT, Operations } from '../testing/operations.testing.ts';
import type { TraceNode, TraceTree } from './trace-tree.ts';

const act = defineAction({ name: 'act', input: z.looseObject({}), output: z.json(), idempotent: true, run: () => 'ok' });
const step = (id: string): object => ({ id, type: 'action', action: 'act' });

async function treeOf(definition: object, input: unknown = {}): Promise<TraceTree> {
  const ops = new Operations({ actions: [act], followers: operationFollowers });
  await ops.publish('wf', definition);
  const run = await ops.start('wf', input as never);
  const doc = ops.host.store.peek(paths.trace(ACCOUNT, run));
  return JSON.parse(String(doc?.data['json'])) as TraceTree;
}

const keys = (nodes: readonly TraceNode[] = []): unknown[] =>
  nodes.map(({ key, steps }) => (steps === undefined ? key : [key, keys(steps)]));

describe('the trace of a run', () => {
  test('is a tree of its steps, in the order in which they began', async () => {
    const tree = await treeOf({
      steps: [
        step('first'),
        { id: 'fan', type: 'parallel', branches: { left: [step('l')], right: [step('r')] } },
        { id: 'each', type: 'loop', over: { source: 'static', items: [1, 2] }, steps: [step('x')] },
      ],
    });
    expect(keys(tree.steps)).toEqual([
      'first',
      ['fan', ['fan.left.l', 'fan.right.r', 'fan.$join']],
      ['each', ['each[0].x', 'each[1].x', 'each.$join']],
    ]);
    expect(tree.steps[0]?.attempts).toMatchObject([{ n: 1, outcome: 'succeeded' }]);
  });

  test('leaves the middle of a long loop out, and says so', async () => {
    const tree = await treeOf(
      {
        steps: [{ id: 'each', type: 'loop', concurrency: 50, over: { source: 'workflowInput', path: 'n' }, steps: [step('x')] }],
      },
      { n: Array.from({ length: 500 }, (_, i) => i) },
    );
    const [each] = tree.steps;
    expect(each?.steps?.length).toBe(80);
    expect((each?.steps?.length ?? 0) + (each?.omitted ?? 0)).toBe(501);
    expect(tree.total).toBe(502);
  });
});
