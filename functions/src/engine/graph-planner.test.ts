import { describe, expect, test } from 'vitest';
import { definitionSchema } from '../model/definition.ts';
import type { ErrorRecord } from '../model/errors.ts';
import type { LoopFrame } from '../model/step.ts';
import { indexDefinition, placeOf } from './definition-index.ts';
import type { DefinitionIndex } from './definition-index.ts';
import { enterList, nextAfter, nextAfterFailure, startBranches, startLoop } from './graph-planner.ts';
import type { Continuation, Next } from './graph-planner.ts';

const t = (id: string, more: object = {}): object => ({ id, type: 'transform', value: 1, ...more });

function indexOf(steps: readonly object[], more: object = {}): DefinitionIndex {
  return indexDefinition(definitionSchema.parse({ id: 'wf', steps, ...more }));
}

/** A decision in one line. */
function said(next: Next): string {
  switch (next.kind) {
    case 'step':
      return `step ${next.key}${next.sensitive ? ' (sensitive)' : ''}`;
    case 'lane_end':
      return `lane ${next.lane.lane} of ${next.lane.lanes} of ${next.lane.ownerKey} ends`;
    case 'early_join':
      return `${next.lane.ownerKey} is decided by lane ${next.lane.lane} of ${next.lane.lanes}: ${next.reason}`;
    case 'run_failed':
      return next.compensate ? 'run fails, undo' : 'run fails';
    case 'run_end':
      return 'run ends';
  }
}

function failed({ next, mark }: Continuation): string {
  return mark === undefined ? said(next) : `${said(next)}; ${mark.scope} failed with ${mark.error.code} at ${mark.stepKey}`;
}

const technical: ErrorRecord = { code: 'http.server_error', class: 'retryable', message: 'no' };
const business = (code: string): ErrorRecord => ({ code, class: 'business', message: 'no' });
const round = (stepId: string, index: number, count = 5, lanes = 2): LoopFrame => ({ stepId, index, count, lanes });

const index = indexOf([
  t('first'),
  { id: 'if', type: 'condition', if: 'true', then: [t('yes'), t('yes2')], else: [t('no')] },
  {
    id: 'each',
    type: 'loop',
    over: { source: 'workflowInput', path: 'items' },
    steps: [t('a'), { id: 'fan', type: 'parallel', branches: { left: [t('l'), t('l2')], right: [t('r')] } }],
  },
  t('last'),
]);
const after = (id: string, loops: readonly LoopFrame[] = [], of = index): string => said(nextAfter(of, placeOf(of, id), loops));

describe('what follows a step that ended well', () => {
  test.each([
    ['first', [], 'step if'],
    ['yes', [], 'step if.then.yes2'],
    ['yes2', [], 'step each'],
    ['no', [], 'step each'],
    ['a', [round('each', 3)], 'step each[3].fan'],
    ['l', [round('each', 3)], 'step each[3].fan.left.l2'],
    ['l2', [round('each', 3)], 'lane 0 of 2 of each[3].fan ends'],
    ['r', [round('each', 3)], 'lane 1 of 2 of each[3].fan ends'],
    // Striping: lane 1 of 2 goes from 1 to 3, and ends there, as 5 items are 0 to 4.
    ['fan', [round('each', 1)], 'step each[3].a'],
    ['fan', [round('each', 2)], 'step each[4].a'],
    ['fan', [round('each', 3)], 'lane 1 of 2 of each ends'],
    ['fan', [round('each', 4)], 'lane 0 of 2 of each ends'],
    ['each', [], 'step last'],
    ['last', [], 'run ends'],
  ] as const)('%s %j: %s', (id, loops, expected) => {
    expect(after(id, loops)).toBe(expected);
  });

  test('the first branch that succeeds decides, where any does', () => {
    const any = indexOf([{ id: 'fan', type: 'parallel', policy: 'any', branches: { left: [t('l')], right: [t('r')] } }]);
    expect(after('r', [], any)).toBe('fan is decided by lane 1 of 2: succeeded');
  });

  test('an inner loop goes on in its own rounds, the outer one keeps its', () => {
    const loops = indexOf([
      {
        id: 'out',
        type: 'loop',
        over: { source: 'static', items: [1, 2] },
        steps: [{ id: 'in', type: 'loop', over: { source: 'static', items: [1, 2] }, steps: [t('x')] }],
      },
    ]);
    expect(after('x', [round('out', 1, 2, 1), round('in', 0, 2, 1)], loops)).toBe('step out[1].in[1].x');
    expect(after('x', [round('out', 1, 2, 1), round('in', 1, 2, 1)], loops)).toBe('lane 0 of 1 of out[1].in ends');
    expect(after('in', [round('out', 0, 2, 1)], loops)).toBe('step out[1].in');
  });

  test('a sensitive step is created as one', () => {
    const into = indexOf([t('a'), t('b', { sensitive: true })]);
    expect(after('a', [], into)).toBe('step b (sensitive)');
  });
});

describe('how a container begins', () => {
  test('a condition with the branch that it chose, or with what follows it', () => {
    expect(said(enterList(index, placeOf(index, 'if'), 'then', []))).toBe('step if.then.yes');
    expect(said(enterList(index, placeOf(index, 'if'), 'else', []))).toBe('step if.else.no');
    const bare = indexOf([{ id: 'if', type: 'condition', if: 'true', then: [t('yes')] }, t('next')]);
    expect(said(enterList(bare, placeOf(bare, 'if'), 'else', []))).toBe('step next');
  });

  test('a loop with the first item of each lane', () => {
    expect(startLoop(index, placeOf(index, 'each'), [], 5, 2).map(said)).toEqual(['step each[0].a', 'step each[1].a']);
    expect(startLoop(index, placeOf(index, 'first'), [], 5, 2)).toEqual([]);
  });

  test('a parallel with the first step of each branch', () => {
    expect(startBranches(index, placeOf(index, 'fan'), [round('each', 2)]).map(said)).toEqual([
      'step each[2].fan.left.l',
      'step each[2].fan.right.r',
    ]);
    expect(startBranches(index, placeOf(index, 'first'), [])).toEqual([]);
  });
});

describe('where a failure leads', () => {
  const fail = (of: DefinitionIndex, id: string, error: ErrorRecord, loops: readonly LoopFrame[] = []): string =>
    failed(nextAfterFailure(of, placeOf(of, id), loops, error));

  test('to the end of the run, by its policy', () => {
    expect(fail(index, 'first', technical)).toBe('run fails');
    expect(fail(indexOf([t('a'), t('b')], { onError: 'fail' }), 'a', technical)).toBe('run fails');
    expect(fail(indexOf([t('a'), t('b')], { onError: 'compensate' }), 'a', technical)).toBe('run fails, undo');
    expect(fail(indexOf([t('a'), t('b')], { onError: 'continue' }), 'a', technical)).toBe('step b');
    expect(fail(indexOf([t('a'), t('b')], { onError: 'continue' }), 'b', technical)).toBe('run ends');
  });

  test('past a step that tolerates it, or one around it', () => {
    expect(fail(indexOf([t('a', { continueOnError: true }), t('b')]), 'a', technical)).toBe('step b');
    const around = indexOf([{ id: 'if', type: 'condition', if: 'true', then: [t('a'), t('b')], continueOnError: true }, t('c')]);
    expect(fail(around, 'a', business('x'))).toBe('step c');
    expect(fail(indexOf([t('a', { continueOnError: false }), t('b')]), 'a', technical)).toBe('run fails');
  });

  test('to the exception path of its code, or the one for all, if it is a business exception', () => {
    const paths = indexOf([t('a', { onException: { x: [t('forX')], '*': [t('forAll')], none: [] } }), t('b')]);
    expect(fail(paths, 'a', business('x'))).toBe('step a.onException.forX');
    expect(fail(paths, 'a', business('y'))).toBe('step a.onException.forAll');
    expect(fail(paths, 'a', business('toString'))).toBe('step a.onException.forAll');
    expect(fail(paths, 'a', business('none'))).toBe('step b');
    expect(fail(paths, 'a', technical)).toBe('run fails');
    expect(fail(indexOf([t('a', { onException: { x: [t('forX')] }, continueOnError: true }), t('b')]), 'a', business('y'))).toBe('step b');
  });

  test('out of an exception path: the step that it belongs to does not handle it once more, those around do', () => {
    const own = indexOf([t('a', { onException: { '*': [t('h'), t('h2')] }, continueOnError: true }), t('b')]);
    expect(after('h', [], own)).toBe('step a.onException.h2');
    expect(after('h2', [], own)).toBe('step b');
    expect(fail(own, 'h', business('x'))).toBe('run fails');
    const around = indexOf([
      { id: 'if', type: 'condition', if: 'true', then: [t('a', { onException: { '*': [t('h')] } })], onException: { '*': [t('o')] } },
    ]);
    expect(fail(around, 'h', business('x'))).toBe('step if.onException.o');
  });

  test('of an item: the loop ends early, or goes on with the next item of the lane', () => {
    const over = { source: 'static', items: [1, 2, 3, 4, 5] };
    const strict = indexOf([{ id: 'each', type: 'loop', over, steps: [t('a')] }, t('b')]);
    expect(fail(strict, 'a', technical, [round('each', 3)])).toBe(
      'each is decided by lane 1 of 2: failed; each[3] failed with http.server_error at each[3].a',
    );
    const tolerant = indexOf([{ id: 'each', type: 'loop', over, onItemError: 'continue', steps: [t('a')] }, t('b')]);
    expect(fail(tolerant, 'a', technical, [round('each', 1)])).toBe('step each[3].a; each[1] failed with http.server_error at each[1].a');
    expect(fail(tolerant, 'a', technical, [round('each', 4)])).toBe(
      'lane 0 of 2 of each ends; each[4] failed with http.server_error at each[4].a',
    );
  });

  test.each([
    ['all', 'fan is decided by lane 1 of 2: failed'],
    ['any', 'lane 1 of 2 of fan ends'],
    ['settled', 'lane 1 of 2 of fan ends'],
  ])('of a branch, where %s counts', (policy, expected) => {
    const fan = indexOf([{ id: 'fan', type: 'parallel', policy, branches: { left: [t('l')], right: [t('r')] } }]);
    expect(fail(fan, 'r', technical)).toBe(`${expected}; fan.right failed with http.server_error at fan.right.r`);
  });
});
