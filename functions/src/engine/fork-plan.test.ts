import { describe, expect, test } from 'vitest';
import { definitionSchema } from '../model/definition.ts';
import type { StepRecord } from '../model/step.ts';
import { kilnErrorOf } from '../testing/kiln-error.ts';
import { indexDefinition } from './definition-index.ts';
import { planFork } from './fork-plan.ts';

const t = (id: string, more: object = {}): object => ({ id, type: 'transform', value: 1, ...more });
const each = (steps: object[], more: object = {}): object => ({
  id: 'each',
  type: 'loop',
  over: { source: 'workflowInput', path: 'items' },
  steps,
  ...more,
});
const fan = (branches: object, more: object = {}): object => ({ id: 'fan', type: 'parallel', branches, ...more });

/** What a step came to: its state, or more of its document. Steps are numbered in the order in which they are named. */
type Ran = StepRecord['state'] | Partial<StepRecord>;

interface Past {
  /** Items of each loop, and its lanes. */
  readonly count?: number;
  readonly lanes?: number;
  /** Scopes whose failure is recorded. */
  readonly failures?: readonly string[];
  readonly definition?: object;
}

function planOf(steps: readonly object[], ran: Record<string, Ran>, from?: string, past: Past = {}): ReturnType<typeof planFork> {
  const index = indexDefinition(definitionSchema.parse({ id: 'wf', steps, ...past.definition }));
  const docs = Object.entries(ran).map(([key, outcome], at) => {
    const loops = [...key.matchAll(/(\w+)\[(\d+)\]/g)].map((match) => ({
      stepId: match[1] ?? '',
      index: Number(match[2]),
      count: past.count ?? 2,
      lanes: past.lanes ?? 1,
    }));
    const stepId = key.split('.').at(-1) ?? '';
    const doc = { key, stepId, loops, seq: at + 1, ...(typeof outcome === 'string' ? { state: outcome } : outcome) } as StepRecord;
    return [key, doc] as const;
  });
  const byKey = new Map(docs);
  return planFork({ index, steps: byKey, failures: new Set(past.failures) }, from === undefined ? undefined : byKey.get(from));
}

/** A plan in words: `+` begun, `~` reopened, the rest kept. */
function words({ kept, reopened, begun }: ReturnType<typeof planFork>): string {
  return [...kept, ...reopened.map((key) => `~${key}`), ...begun.map(({ key }) => `+${key}`)].join(' ');
}

const ok = 'succeeded';
const refused: Ran = { state: 'failed', error: { code: 'no_stock', class: 'business', message: 'none left' } };
const broken: Ran = { state: 'failed', error: { code: 'http.client_error', class: 'not_retryable', message: 'no' } };
const chose = (branch: string): Ran => ({ state: ok, output: { size: 1, digest: '', json: `{"branch":"${branch}"}` } });

describe('from a step on', () => {
  test('what came before is kept, that step and all that follows is done anew', () => {
    const plan = planOf([t('a'), t('b'), t('c')], { a: ok, b: ok, c: ok }, 'b');
    expect(plan).toEqual({
      kept: ['a'],
      reopened: [],
      begun: [{ key: 'b', stepId: 'b', type: 'transform', loops: [], seq: 2 }],
      counted: [],
      marks: [],
    });
  });

  test('a step before it that is new in this version is not done any more; without a step to go on from it is', () => {
    const steps = [t('a'), t('new'), t('b')];
    expect(words(planOf(steps, { a: ok, b: ok }, 'b'))).toBe('a +b');
    expect(planOf(steps, { a: ok, b: ok })).toMatchObject({ kept: ['a'], begun: [{ key: 'new', seq: 1 }] });
  });

  test('a step whose name begins alike is another', () => {
    expect(words(planOf([t('a'), t('ab'), t('abc')], { a: ok, ab: ok, abc: ok }, 'abc'))).toBe('a ab +abc');
  });

  test('a step that this version has elsewhere, or not at all, is refused with its name', () => {
    const moved = [{ id: 'if', type: 'condition', if: 'true', then: [t('b')] }];
    for (const steps of [moved, [t('a')]]) {
      const error = kilnErrorOf(() => planOf(steps, { b: ok }, 'b'));
      expect([error.code, error.message]).toEqual([
        'command.refused',
        'the step "b" does not stand at "b" in this version of the workflow',
      ]);
    }
  });
});

describe('without a step', () => {
  test.each<[string, Ran, string]>([
    ['succeeded', ok, 'a b'],
    ['was skipped', 'skipped', 'a b'],
    ['failed', broken, 'a +b'],
    ['was cancelled', 'cancelled', 'a +b'],
    ['is ready', 'ready', 'a +b'],
    ['runs', 'running', 'a +b'],
    ['waits', 'waiting', 'a +b'],
    ['nobody knows the outcome of', 'unresolved', 'a +b'],
  ])('a step that %s', (_name, state, expected) => {
    expect(words(planOf([t('a'), t('b')], { a: ok, b: state }))).toBe(expected);
  });

  test('a failure that the run or the step goes on after is kept', () => {
    expect(
      words(planOf([t('a'), t('b'), t('c')], { a: broken, b: ok, c: broken }, undefined, { definition: { onError: 'continue' } })),
    ).toBe('a b c');
    expect(words(planOf([t('a', { continueOnError: true }), t('b')], { a: broken, b: 'cancelled' }))).toBe('a +b');
  });

  test('the run goes on after failures of its own list only', () => {
    const steps = [fan({ l: [t('x'), t('y')] }, { policy: 'all' }), t('end')];
    const plan = planOf(steps, { fan: 'cancelled', 'fan.l.x': broken }, undefined, { definition: { onError: 'continue' } });
    expect(words(plan)).toBe('~fan +fan.l.x');
  });
});

describe('a condition', () => {
  const branch = { id: 'if', type: 'condition', if: 'true', then: [t('yes'), t('yes2')], else: [t('no')] };

  test.each<[string, Record<string, Ran>, string | undefined, string]>([
    [
      'is followed where it went',
      { if: chose('then'), 'if.then.yes': ok, 'if.then.yes2': broken },
      undefined,
      'if if.then.yes +if.then.yes2',
    ],
    ['is followed into its other list', { if: chose('else'), 'if.else.no': ok }, undefined, 'if if.else.no +end'],
    [
      'is kept, from inside it',
      { if: chose('then'), 'if.then.yes': ok, 'if.then.yes2': ok, end: ok },
      'if.then.yes2',
      'if if.then.yes +if.then.yes2',
    ],
    ['is done anew, from itself', { if: chose('then'), 'if.then.yes': ok }, 'if', '+if'],
    [
      'is kept whole, from behind it',
      { if: chose('then'), 'if.then.yes': ok, 'if.then.yes2': ok, end: ok },
      'end',
      'if if.then.yes if.then.yes2 +end',
    ],
  ])('%s', (_name, ran, from, expected) => {
    expect(words(planOf([branch, t('end')], ran, from))).toBe(expected);
  });

  test('without a list for where it went is passed', () => {
    const short = { id: 'if', type: 'condition', if: 'true', then: [t('yes')] };
    expect(words(planOf([short, t('end')], { if: chose('else'), end: broken }))).toBe('if +end');
  });

  test('handles what failed in it', () => {
    const patient = { ...branch, continueOnError: true };
    expect(words(planOf([patient, t('end')], { if: chose('then'), 'if.then.yes': broken, end: broken }))).toBe('if if.then.yes +end');
  });
});

describe('an exception path', () => {
  const steps = [t('f', { onException: { sold_out: [t('s')], no_stock: [t('x'), t('y')], '*': [t('z')] } }), t('end')];

  test.each<[string, Record<string, Ran>, string | undefined, string]>([
    [
      'is kept with its failure',
      { f: refused, 'f.onException.x': ok, 'f.onException.y': ok, end: broken },
      undefined,
      'f f.onException.x f.onException.y +end',
    ],
    [
      'is gone on with where it stood',
      { f: refused, 'f.onException.x': ok, 'f.onException.y': broken },
      undefined,
      'f f.onException.x +f.onException.y',
    ],
    [
      'is gone on with from inside',
      { f: refused, 'f.onException.x': ok, 'f.onException.y': ok, end: ok },
      'f.onException.y',
      'f f.onException.x +f.onException.y',
    ],
    ['is not kept with a step that is done anew', { f: refused, 'f.onException.x': ok }, 'f', '+f'],
    ['that this version has no more leaves what it did', { f: refused, 'f.onException.gone': ok, end: broken }, undefined, 'f +end'],
    ['that was never entered does not help', { f: refused }, undefined, '+f'],
  ])('%s', (_name, ran, from, expected) => {
    expect(words(planOf(steps, ran, from))).toBe(expected);
  });

  test('without steps passes over the failures that it names, and only those', () => {
    const over = (onException: object, error: Ran): string => words(planOf([t('f', { onException }), t('end')], { f: error }));
    expect(over({ no_stock: [] }, refused)).toBe('f +end');
    expect(over({ '*': [] }, refused)).toBe('f +end');
    expect(over({ sold_out: [] }, refused)).toBe('+f');
    expect(over({ no_stock: [t('x')], '*': [] }, refused)).toBe('+f');
    expect(over({ '*': [] }, broken)).toBe('+f');
    expect(over({ '*': [] }, 'failed')).toBe('+f');
  });
});

describe('a loop', () => {
  const steps = [each([t('a'), t('b')]), t('end')];
  const first = { each: 'waiting', 'each[0].a': ok, 'each[0].b': ok } as const;

  test('goes on in the iteration where it stood', () => {
    const plan = planOf(steps, { ...first, 'each[1].a': ok, 'each[1].b': broken }, undefined, { count: 3 });
    expect(words(plan)).toBe('each[0].a each[0].b each[1].a ~each +each[1].b');
    expect(plan.begun).toEqual([
      { key: 'each[1].b', stepId: 'b', type: 'transform', loops: [{ stepId: 'each', index: 1, count: 3, lanes: 1 }], seq: 5 },
    ]);
    expect(plan.counted).toEqual([{ ownerKey: 'each', lanes: 1, ended: [] }]);
  });

  test('from inside an iteration, keeps the ones before it', () => {
    const ran = { ...first, each: ok, 'each[1].a': ok, 'each[1].b': ok, end: ok } as const;
    expect(words(planOf(steps, ran, 'each[1].a'))).toBe('each[0].a each[0].b ~each +each[1].a');
    expect(words(planOf(steps, ran, 'end'))).toBe('each each[0].a each[0].b each[1].a each[1].b +end');
    expect(words(planOf(steps, ran, 'each'))).toBe('+each');
  });

  test('that had not begun an iteration begins', () => {
    expect(planOf(steps, { each: 'failed' })).toMatchObject({ reopened: [], begun: [{ key: 'each', type: 'loop', seq: 1 }], counted: [] });
  });

  test('counts the lanes that have ended, with the steps they took', () => {
    const ran = { each: 'failed', 'each[0].a': ok, 'each[2].a': ok, 'each[1].a': broken } as const;
    const plan = planOf([each([t('a')])], ran, undefined, { count: 4, lanes: 2 });
    expect(words(plan)).toBe('each[0].a each[2].a ~each +each[1].a');
    expect(plan.counted).toEqual([{ ownerKey: 'each', lanes: 2, ended: [{ lane: 0, seq: 3 }] }]);
  });

  test('joins when all its lanes have ended', () => {
    const plan = planOf([each([t('a')])], { each: 'waiting', 'each[0].a': ok, 'each[1].a': ok }, undefined, { lanes: 2 });
    expect(plan.counted).toEqual([
      {
        ownerKey: 'each',
        lanes: 2,
        ended: [
          { lane: 0, seq: 2 },
          { lane: 1, seq: 3 },
        ],
      },
    ]);
    expect(plan.begun).toEqual([
      {
        key: 'each.$join',
        stepId: 'each',
        type: '$join',
        loops: [],
        seq: 4,
        join: { owner: 'each', ownerKey: 'each', reason: 'complete', lane: 0, seqSum: 5, lanes: 2 },
      },
    ]);
  });

  test.each<[string, object, readonly string[], string, readonly string[]]>([
    [
      'a failure that it puts up with is kept',
      { onItemError: 'continue' },
      ['each[0]'],
      'each[0].a each[0].b each[1].a each[1].b ~each +each.$join',
      ['each[0]'],
    ],
    ['a failure that was not recorded is done anew', { onItemError: 'continue' }, [], 'each[0].a each[1].a each[1].b ~each +each[0].b', []],
    ['a failure that ends it is done anew', {}, ['each[0]'], 'each[0].a ~each +each[0].b', []],
  ])('%s', (_name, more, failures, expected, marks) => {
    const ran = { each: 'failed', 'each[0].a': ok, 'each[0].b': broken, 'each[1].a': ok, 'each[1].b': ok } as const;
    const lanes = Object.keys(more).length > 0 && failures.length === 0 ? 2 : 1;
    const plan = planOf([each([t('a'), t('b')], more)], ran, undefined, { failures, lanes });
    expect(words(plan).split(' ').sort()).toEqual(expected.split(' ').sort());
    expect(plan.marks).toEqual(marks);
  });

  test('around another is found again with both their iterations', () => {
    const inner = { id: 'in', type: 'loop', over: { source: 'loopItem' }, steps: [t('x')] };
    const ran = { each: 'failed', 'each[0].in': 'failed', 'each[0].in[0].x': ok, 'each[0].in[1].x': broken } as const;
    const plan = planOf([each([inner])], ran);
    expect(words(plan)).toBe('each[0].in[0].x ~each ~each[0].in +each[0].in[1].x');
    expect(plan.begun[0]?.loops.map(({ stepId, index }) => [stepId, index])).toEqual([
      ['each', 0],
      ['in', 1],
    ]);
  });
});

describe('a parallel', () => {
  const steps = [fan({ l: [t('l'), t('l2')], r: [t('r')] }), t('end')];
  const ran = { fan: ok, 'fan.l.l': ok, 'fan.l.l2': ok, 'fan.r.r': ok, end: ok } as const;

  test('keeps the other branches, from inside one', () => {
    const plan = planOf(steps, ran, 'fan.l.l2');
    expect(words(plan)).toBe('fan.l.l fan.r.r ~fan +fan.l.l2');
    expect(plan.counted).toEqual([{ ownerKey: 'fan', lanes: 2, ended: [{ lane: 1, seq: 4 }] }]);
    expect(words(planOf(steps, ran, 'end'))).toBe('fan fan.l.l fan.l.l2 fan.r.r +end');
  });

  test('that had not begun a branch begins', () => {
    expect(planOf(steps, { fan: 'failed' })).toMatchObject({ reopened: [], begun: [{ key: 'fan', type: 'parallel' }] });
  });

  test('goes on behind its exception path, not in its branches, from inside that path', () => {
    const handled = [fan({ l: [t('l')] }, { policy: 'all', onException: { '*': [t('x'), t('y')] } })];
    const past = { fan: refused, 'fan.l.l': refused, 'fan.onException.x': ok, 'fan.onException.y': ok } as const;
    expect(words(planOf(handled, past, 'fan.onException.y'))).toBe('fan fan.l.l fan.onException.x +fan.onException.y');
    expect(words(planOf(handled, past, 'fan.l.l'))).toBe('~fan +fan.l.l');
  });

  test.each<[string, object, readonly string[], string]>([
    ['puts up with a failed branch', {}, ['fan.l'], 'fan.l.l fan.r.r ~fan +fan.$join'],
    ['of which any will do, too', { policy: 'any' }, ['fan.l'], 'fan.l.l fan.r.r ~fan +fan.$join'],
    ['of which all must end well does the failed one anew', { policy: 'all' }, ['fan.l'], 'fan.r.r ~fan +fan.l.l'],
    ['whose failure was not recorded does it anew', {}, [], 'fan.r.r ~fan +fan.l.l'],
  ])('that %s', (_name, more, failures, expected) => {
    const past = { fan: 'failed', 'fan.l.l': broken, 'fan.r.r': ok } as const;
    const plan = planOf([fan({ l: [t('l'), t('l2')], r: [t('r')] }, more)], past, undefined, { failures });
    expect(words(plan)).toBe(expected);
    expect(plan.marks).toEqual(expected.endsWith('$join') ? ['fan.l'] : []);
    if (expected.endsWith('$join')) expect(plan.begun[0]).toMatchObject({ seq: 4, join: { seqSum: 5, lanes: 2 } });
  });
});
