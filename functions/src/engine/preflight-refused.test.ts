import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { indexDefinition } from './definition-index.ts';
import type { Json } from './json.ts';
import { checkDefinition, parseDefinition } from './preflight.ts';
import type { StepTypeCatalog, StepTypeFacts } from './preflight.ts';

const facts: Record<string, StepTypeFacts> = {
  note: { kind: 'compute', schema: z.strictObject({ type: z.literal('note'), text: z.json() }), publicFields: ['text'] },
  call: {
    kind: 'effect',
    schema: z.strictObject({ type: z.literal('call'), url: z.string(), body: z.json().optional(), answer: z.json().optional() }),
    secretFields: ['url', 'inputs'],
    literalFields: ['answer'],
    schemaFields: ['answer'],
    outputSchema: () => ({ type: 'object', properties: { id: { type: 'string' } }, additionalProperties: false }),
  },
  rest: {
    kind: 'wait',
    schema: z.strictObject({ type: z.literal('rest'), for: z.json().optional(), until: z.json().optional() }),
    durationFields: ['for'],
    dateFields: ['until'],
  },
};
const types: StepTypeCatalog = {
  find: (type) => (Object.hasOwn(facts, type) ? facts[type] : undefined),
  names: () => Object.keys(facts),
};

/** Each problem in a line: `place: code: words`. */
function said(steps: readonly Json[], more: { readonly [field: string]: Json } = {}): string[] {
  const { definition, problems } = parseDefinition({ id: 'w', steps: [...steps], ...more });
  const found = definition === undefined ? problems : checkDefinition(indexDefinition(definition), types);
  return found.map(({ path, code, message }) => `${path}: ${code}: ${message}`);
}

type Step = { readonly [field: string]: Json };
const note = (id: string, text: Json = id, more: Step = {}): Step => ({ id, type: 'note', text, ...more });
const call = (more: Step): Step => ({ id: 'c', type: 'call', url: 'https://x', ...more });
const loop = (steps: Json[], more: Step = {}): Step => ({
  id: 'each',
  type: 'loop',
  over: { source: 'static', items: [1] },
  steps,
  ...more,
});
const fan = (branches: { readonly [name: string]: Json[] }, more: Step = {}): Step => ({ id: 'fan', type: 'parallel', branches, ...more });

describe('a reference that cannot be followed', () => {
  const missing = (place: string, text: string, words: string): string => `${place}: template.missing_step: {{${text}}}: ${words}`;
  const later = (id: string): string =>
    `step "${id}" has not ended when this step runs; refer to an earlier step, or move this one behind it`;
  const elsewhere = (id: string): string =>
    `step "${id}" stands in another branch, which may not have run; refer to a step before the branches, or put this step behind them`;
  const inside = (id: string): string =>
    `step "${id}" runs once for each item of a loop, so from outside it has no single output; refer to the loop's own output, the list {{step.each}}`;

  test.each<[string, Json[], string[]]>([
    ['to no step', [note('a', '{{step.b}}')], [missing('steps[0].text', 'step.b', 'there is no step "b"; the nearest id is "a"')]],
    [
      'to itself',
      [note('a', '{{step.a}}')],
      [missing('steps[0].text', 'step.a', 'a step cannot refer to its own output; refer to an earlier step')],
    ],
    ['to a later step', [note('a', '{{step.b}}'), note('b')], [missing('steps[0].text', 'step.b', later('b'))]],
    [
      'to another branch',
      [fan({ l: [note('x')], r: [note('y', '{{step.x}}')] })],
      [missing('steps[0].branches.r[0].text', 'step.x', elsewhere('x'))],
    ],
    ['into a loop', [loop([note('x')]), note('y', '{{step.x}}')], [missing('steps[1].text', 'step.x', inside('x'))]],
    [
      'into an inner loop',
      [
        {
          ...loop([{ id: 'each', type: 'loop', over: { source: 'static', items: [1] }, steps: [note('x')] }, note('y', '{{step.x}}')]),
          id: 'outer',
        },
      ],
      [missing('steps[0].steps[1].text', 'step.x', inside('x'))],
    ],
    [
      'to no loop',
      [note('a', '{{loop_item}}')],
      [
        missing(
          'steps[0].text',
          'loop_item',
          'there is no loop_item outside a loop; move the step into a loop, or refer to an earlier step',
        ),
      ],
    ],
    [
      'to what is no root here',
      [note('a', '{{input.x}}')],
      [missing('steps[0].text', 'input.x', 'there is no input here; use workflow_input, step, loop_item, loop_index, run')],
    ],
  ])('%s', (_name, steps, expected) => {
    expect(said(steps)).toEqual(expected);
  });

  test('into what the run, a step or a mapping does not have', () => {
    expect(said([note('a', '{{run.idd}} {{run.startedBy.kind}}')])).toEqual([
      'steps[0].text: template.missing_path: {{run.idd}}: the schema allows no "idd" there; the nearest is "id"',
    ]);
    expect(said([note('a', '{{run.undoes.key}}')])[0]).toContain('the schema allows no "undoes" there');
    expect(
      said([
        note('a', 'x', {
          compensate: { type: 'note', text: '{{run.undoes.key}} {{step.a}} {{run.undoes.outcome}} {{run.undoes.idempotencyKey}}' },
        }),
      ]),
    ).toEqual([]);
    expect(said([note('a', 'x', { compensate: { type: 'note', text: '{{run.undoes.kee}}' } })])[0]).toContain('the nearest is "key"');
    for (const path of ['id', 'workflowId', 'version', 'startedBy.id', 'createdAt', 'businessKey'])
      expect(said([note('a', `{{run.${path}}}`)])).toEqual([]);
    expect(said([call({}), note('a', 'x', { inputs: { i: { source: 'previousStep', stepId: 'c', path: 'idd' } } })])).toEqual([
      'steps[1].inputs.i.path: template.missing_path: previousStep idd: the schema allows no "idd" there; the nearest is "id"',
    ]);
    expect(said([note('a', 'x', { inputs: { i: { source: 'workflowInput', path: 'b' } } })], { input: { type: 'string' } })).toEqual([
      'steps[0].inputs.i.path: template.missing_path: workflowInput b: "b" is asked of a value that the schema declares as "string"',
    ]);
  });

  test('from the output of the workflow and its conditions', () => {
    expect(said([loop([note('x')])], { output: '{{step.x}}' })).toEqual([missing('output', 'step.x', inside('x'))]);
    expect(said([note('a')], { businessKey: 'k {{step.a}}' })).toEqual([
      missing('businessKey', 'step.a', 'there is no step here; use workflow_input, run'),
    ]);
    const condition = (text: string): string[] => said([note('a'), { id: 'c', type: 'condition', if: text, then: [] }]);
    expect(condition('step.b.x == 1')).toEqual(['steps[1].if: template.missing_step: there is no step "b"; the nearest id is "a"']);
    expect(condition('found.x == step.b.x')).toEqual([
      'steps[1].if: template.missing_step: there is no found here; use workflow_input, step, loop_item, loop_index, run',
    ]);
  });

  test('to a secret outside of the fields that go outside', () => {
    const secret = (place: string, fields: string): string =>
      `${place}: secret.not_allowed: {{secret.KEY}}: a secret may only stand in a field that goes outside (${fields})`;
    expect(said([note('a', '{{secret.KEY}}')])).toEqual([secret('steps[0].text', 'none here')]);
    expect(said([call({ body: { k: ['{{secret.KEY}}'] } })])).toEqual([secret('steps[0].body.k[0]', 'url, inputs')]);
    expect(said([call({ url: '{{secret.KEY}}', inputs: { k: '{{secret.KEY}}' } })])).toEqual([]);
    expect(
      said([note('a')], { destinations: [{ url: 'https://x', secret: 's' }] }).some((line) => line.includes('secret.not_allowed')),
    ).toBe(false);
  });
});

describe('a step that cannot be done as it stands', () => {
  const invalid = (place: string, words: string): string => `${place}: definition.invalid: ${words}`;

  test.each<[string, Json, string[]]>([
    [
      'unknown',
      { id: 'a', type: 'nte', text: 1 },
      [
        'steps[0].type: step.unknown_type: there is no step type "nte"; the nearest is "note". Known: call, condition, loop, note, parallel, rest',
      ],
    ],
    [
      'a type with a long name',
      { id: 'a', type: 'x'.repeat(200) },
      [
        `steps[0].type: step.unknown_type: there is no step type "${'x'.repeat(100)}"; the nearest is "call". Known: call, condition, loop, note, parallel, rest`,
      ],
    ],
    ['an empty loop', loop([]), [invalid('steps[0].steps', 'the loop has no steps; add one, or remove the loop')]],
    [
      'an empty branch',
      fan({ l: [note('x')], r: [] }),
      [invalid('steps[0].branches.r', 'branch "r" has no steps; add one, or remove the branch')],
    ],
    [
      'a long list',
      loop([note('x')], { over: { source: 'static', items: [1, 2, 3] }, maxItems: 2 }),
      [
        "steps[0].over.items: loop.too_many_items: the list has 3 items; this loop's limit is 2. Raise maxItems and limits.maxLoopItems, or shorten it",
      ],
    ],
    [
      'no code',
      note('a', 1, { onException: { '': [] } }),
      [invalid('steps[0].onException[""]', 'a business exception has a code; name it, or take every other one with "*"')],
    ],
    [
      'a state without states',
      note('a', 1, { setsState: 'paid' }),
      [invalid('steps[0].setsState', 'there is no business state "paid"; the workflow declares no states; add "states"')],
    ],
    [
      'a compensation of many steps',
      note('a', 1, { compensate: { type: 'parallel' } }),
      [invalid('steps[0].compensate.type', 'this must be one step, not a parallel; start a subworkflow for more')],
    ],
    [
      'a slow attempt',
      call({ timeout: '501s' }),
      [
        'steps[0].timeout: duration.invalid: steps[0].timeout is "501s"; a step may take at most 500 s, because a function lives 540 s. Split it, or wait for an event instead',
      ],
    ],
    [
      'no time',
      call({ timeout: '0s' }),
      ['steps[0].timeout: duration.invalid: steps[0].timeout is 0; give a time above 0, or leave it out'],
    ],
    ['a long wait', { id: 'r', type: 'rest', for: '90d', timeout: '90d' }, []],
    [
      'a wait that is none',
      { id: 'r', type: 'rest', for: 'soon', until: 'then' },
      [
        'steps[0].for: duration.invalid: steps[0].for is "soon"; a duration is a number of milliseconds, or text such as "90s", "1h30m", "7d" or "2w".',
        'steps[0].until: date.invalid: steps[0].until is "then"; a date is ISO 8601 text with a zone, such as 2026-12-24T18:00:00Z.',
      ],
    ],
    [
      'a base above the cap',
      call({ retry: { baseMs: 9_000, capMs: 8_000 } }),
      [invalid('steps[0].retry.baseMs', 'baseMs is 9000, above capMs 8000; raise capMs or lower baseMs')],
    ],
    ['a base at the cap', call({ retry: { baseMs: 8_000, capMs: 8_000 } }), []],
    [
      'a schema that is none',
      call({ answer: { type: 'strng' } }),
      [expect.stringMatching(/^steps\[0\]\.answer\.type: schema\.invalid: /) as string],
    ],
    ['a template in what is none', call({ answer: { description: '{{nope}}' } }), []],
    [
      'a faulty path',
      note('a', 1, { inputs: { i: { source: 'workflowInput', path: 'a..b' } } }),
      [expect.stringMatching(/^steps\[0\]\.inputs\.i\.path: template\.syntax: /) as string],
    ],
    [
      'half a mapping',
      note('a', 1, { inputs: { i: { source: 'previousStep' } } }),
      [invalid('steps[0].inputs.i.stepId', '"stepId" is missing; give a string')],
    ],
    ['a fixed input', note('a', 1, { inputs: { i: { source: 'static', value: '{{nope' } } }), []],
  ])('%s', (_name, step, expected) => {
    expect(said([step])).toEqual(expected);
  });

  test.each(['retry', 'timeout', 'effectKey', 'confirm', 'limit'])('%s on a container', (field) => {
    const values: Step = {
      retry: { maxAttempts: 2 },
      timeout: '5s',
      effectKey: 'k',
      confirm: { type: 'call', url: 'x', happened: 'true' },
      limit: 'l',
    };
    const more = { [field]: values[field] ?? null };
    const containers: [string, Step][] = [
      ['loop', loop([note('x')], more)],
      ['parallel', fan({ l: [note('x')] }, more)],
      ['condition', { id: 'if', type: 'condition', if: 'true', then: [], ...more }],
    ];
    for (const [type, step] of containers) {
      expect(said([step])).toContain(invalid(`steps[0].${field}`, `"${field}" has no effect on a ${type}; put it on the steps inside`));
    }
  });

  test('a technical failure has no exception path', () => {
    expect(said([note('a', 1, { onException: { 'http.server_error': [], '*': [], OUT: [] } })])).toEqual([
      invalid(
        'steps[0].onException["http.server_error"]',
        '"http.server_error" is a technical failure, and onException takes business exceptions only; use retry, continueOnError or the workflow\'s onError',
      ),
    ]);
  });

  test('a value that everybody reads cannot be sensitive', () => {
    const words = 'everybody in the account reads this; it cannot show a sensitive value, or the output of a step that works with one';
    const more = { sensitive: ['pay'] };
    expect(said([note('a', '{{workflow_input.pay}}'), call({ url: '{{workflow_input.pay}}' })], more)).toEqual([
      invalid('steps[0].text', words),
    ]);
    expect(said([note('a')], { ...more, businessKey: '{{workflow_input.pay}}', attributes: { a: '{{workflow_input.pay}}' } })).toEqual([
      invalid('businessKey', words),
      invalid('attributes', words),
    ]);
    expect(said([loop([note('a', '{{loop_item}}')], { over: { source: 'workflowInput', path: 'pay' } })], more)).toEqual([
      invalid('steps[0].steps[0].text', words),
    ]);
  });
});

describe('a workflow that cannot be run as it stands', () => {
  const invalid = (place: string, words: string): string => `${place}: definition.invalid: ${words}`;
  const states = { initial: 'new', transitions: { new: ['paid'], paid: [] } };

  test.each<[string, { readonly [field: string]: Json }, string[]]>([
    [
      'nothing to undo',
      { onError: 'compensate' },
      [invalid('onError', 'no step says how it is undone; add "compensate" to the steps with effects, or use onError "fail"')],
    ],
    [
      'an unknown first state',
      { states: { ...states, initial: 'nw' } },
      [invalid('states.initial', 'there is no state "nw"; add "nw": [] to states.transitions, or use the nearest, "new"')],
    ],
    [
      'no states',
      { states: { initial: 'nw', transitions: {} } },
      [invalid('states.initial', 'there is no state "nw"; add "nw": [] to states.transitions')],
    ],
    [
      'an unknown next state',
      { states: { ...states, transitions: { new: ['paid', 'x'], paid: [] } } },
      [invalid('states.transitions.new[1]', 'there is no state "x"; add "x": [] to states.transitions, or use the nearest, "new"')],
    ],
    [
      'a deadline at once',
      { states: { ...states, deadlines: { paid: 0 } } },
      ['states.deadlines.paid: duration.invalid: states.deadlines.paid is 0; give a time above 0, or leave it out'],
    ],
    [
      'a field that is not there',
      { sensitive: ['x'], input: { type: 'object', additionalProperties: false } },
      [invalid('sensitive[0]', 'the input has no field "x": the schema allows no "x" there: it declares no properties')],
    ],
    ['a field of an open input', { sensitive: ['x', 'a b'], input: { type: 'object' } }, []],
    [
      'a field that is no path',
      { sensitive: ['a b'], input: { type: 'object', properties: { 'a b': {} }, additionalProperties: false } },
      [],
    ],
    ['a schema that is none', { input: { type: 'strng' } }, [expect.stringMatching(/^input\.type: schema\.invalid: /) as string]],
  ])('%s', (_name, more, expected) => {
    expect(said([note('a')], more)).toEqual(expected);
  });

  test.each<[string, { readonly [field: string]: Json }]>([
    ['timeout', { timeout: 0 }],
    ['deadline', { deadline: 0 }],
    ['rateLimit.per', { rateLimit: { limit: 1, per: 0 } }],
    ['alerts.after', { alerts: { after: 0 } }],
    ['alerts.escalateAfter', { alerts: { after: '1h', escalateAfter: 0 } }],
    ['reconcile.retryEvery', { reconcile: { check: { type: 'call', url: 'x' }, expect: 'true', retryEvery: 0 } }],
    ['reconcile.giveUpAfter', { reconcile: { check: { type: 'call', url: 'x' }, expect: 'true', giveUpAfter: 0 } }],
  ])('%s is a time above 0', (field, more) => {
    expect(said([note('a')], more)).toEqual([`${field}: duration.invalid: ${field} is 0; give a time above 0, or leave it out`]);
  });

  test('a reconciliation may begin at once, sees the outcome, and may use secrets', () => {
    const reconcile = (more: Step): string[] =>
      said([note('a')], {
        reconcile: {
          check: { type: 'call', url: '{{secret.KEY}} {{step.a}}' },
          expect: 'found.id == output.id && step.a.x == run.id',
          ...more,
        },
      });
    expect(reconcile({ after: 0 })).toEqual([]);
    expect(reconcile({ after: 'soon' })[0]).toMatch(/^reconcile\.after: duration\.invalid: /);
    expect(reconcile({ expect: 'loop_index == 1' })).toEqual([
      'reconcile.expect: template.missing_step: there is no loop_index here; use workflow_input, step, run, output, found',
    ]);
  });

  test('business states that a step sets are declared', () => {
    expect(said([note('a', 1, { setsState: 'pid' })], { states })).toEqual([
      invalid('steps[0].setsState', 'there is no business state "pid"; declare it in states.transitions, or use the nearest, "paid"'),
    ]);
    expect(said([note('a', 1, { setsState: 'paid' })], { states })).toEqual([]);
  });

  test('without steps, or with an id that stands twice', () => {
    expect(said([])).toEqual([invalid('steps', 'the workflow has no steps; add one')]);
    expect(said([note('a'), loop([note('a')])])).toEqual([
      invalid('steps[1].steps[0].id', 'step id "a" stands twice, also at steps[0]; ids are unique in the whole workflow, so rename one'),
    ]);
  });
});
