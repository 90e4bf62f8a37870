import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Definition } from '../model/definition.ts';
import { indexDefinition } from './definition-index.ts';
import type { Json } from './json.ts';
import type { StepTypeCatalog, StepTypeFacts } from './output-schema.ts';
import { checkExpression, checkTemplates, stepRoots } from './preflight-references.ts';
import type { Site } from './preflight-references.ts';

const facts: Readonly<Record<string, StepTypeFacts>> = {
  any: { kind: 'compute', schema: z.json() },
  call: {
    kind: 'effect',
    schema: z.json(),
    outputSchema: () => ({ type: 'object', properties: { id: { type: 'string' } }, additionalProperties: false }),
  },
};
const types: StepTypeCatalog = { find: (type) => facts[type], names: () => Object.keys(facts) };

const any = (id: string): { id: string; type: string } => ({ id, type: 'any' });
const definition = {
  id: 'w',
  input: { type: 'object', properties: { name: { type: 'string' } }, additionalProperties: false },
  steps: [
    { id: 'call', type: 'call' },
    any('twice'),
    { id: 'each', type: 'loop', over: [1], steps: [any('inEach'), { id: 'inner', type: 'loop', over: [1], steps: [any('inInner')] }] },
    any('last'),
  ],
} as unknown as Definition;
const index = indexDefinition(definition);

/** Where a text stands that looks out from this step. */
function at(stepId: string | undefined, more: Partial<Site> = {}): Site {
  return { index, types, from: stepId === undefined ? undefined : index.places.get(stepId), roots: stepRoots, ...more };
}
const said = (value: Json, site: Site): string[] =>
  checkTemplates(value, 'steps[9]', site).map(({ path, code, message }) => `${path}: ${code}: ${message}`);
const expressed = (text: string, site: Site): string[] =>
  checkExpression(text, 'steps[9].if', site).map(({ path, code, message }) => `${path}: ${code}: ${message}`);

describe('what {{run…}} offers', () => {
  test.each([
    'run',
    'run.id',
    'run.workflowId',
    'run.version',
    'run.startedBy',
    'run.startedBy.kind',
    'run.startedBy.id',
    'run.createdAt',
    'run.businessKey',
  ])('{{%s}}', (reference) => {
    expect(said(`{{${reference}}}`, at('last'))).toEqual([]);
  });
  const asked = '"x" is asked of a value that the schema declares as';
  test.each([
    ['run.id.x', `${asked} "string"`],
    ['run.workflowId.x', `${asked} "string"`],
    ['run.version.x', `${asked} "integer"`],
    ['run.startedBy.kind.x', `${asked} "string"`],
    ['run.startedBy.id.x', `${asked} "string"`],
    ['run.startedBy.name', 'the schema allows no "name" there; the nearest is "kind"'],
    ['run.createdAt.x', `${asked} "number"`],
    ['run.businessKey.x', `${asked} "string"`],
    ['run.undoes', 'the schema allows no "undoes" there; the nearest is "id"'],
    ['run.output', 'the schema allows no "output" there; the nearest is "id"'],
  ])('not {{%s}}', (reference, words) => {
    const [problem = ''] = said(`{{${reference}}}`, at('last'));
    expect(problem).toBe(`steps[9]: template.missing_path: {{${reference}}}: ${words}`);
  });
  test('what undoes a step also sees what it undoes', () => {
    const site = at('call', { seesItself: true });
    for (const reference of ['run.undoes.key', 'run.undoes.outcome', 'run.undoes.idempotencyKey', 'run.id', 'step.call.id'])
      expect(said(`{{${reference}}}`, site), reference).toEqual([]);
    for (const field of ['key', 'idempotencyKey'])
      expect(said(`{{run.undoes.${field}.x}}`, site)).toEqual([
        `steps[9]: template.missing_path: {{run.undoes.${field}.x}}: ${asked} "string"`,
      ]);
    expect(said('{{run.undoes.nothing}}', site)[0]).toContain('the schema allows no "nothing" there; the nearest is "outcome"');
  });
});

describe('a secret', () => {
  const refused = (fields: string): string[] => [
    `steps[9].url[0]: secret.not_allowed: {{secret.KEY}}: a secret may only stand in a field that goes outside (${fields})`,
  ];
  const value = { url: ['{{secret.KEY}}'] };
  test.each<[Site['secretFields'], string[]]>([
    [true, []],
    [['body', 'url'], []],
    [['body', 'headers'], refused('body, headers')],
    [[], refused('none here')],
    [undefined, refused('none here')],
  ])('where these fields may hold one: %j', (secretFields, expected) => {
    expect(said(value, at('last', secretFields === undefined ? {} : { secretFields }))).toEqual(expected);
  });
  test('is no field, when the whole value is one text', () => {
    expect(said('{{secret.KEY}}', at('last', { secretFields: ['url'] }))).toHaveLength(1);
  });
});

describe('what stands where', () => {
  const noStep = 'template.missing_step';
  test.each<[string, Site, string[]]>([
    ['workflow_input.name', at('last'), []],
    [
      'workflow_input.name.x',
      at('last'),
      ['template.missing_path: {{workflow_input.name.x}}: "x" is asked of a value that the schema declares as "string"'],
    ],
    ['step.call.id', at('last'), []],
    ['step.call.nope', at('last'), ['template.missing_path: {{step.call.nope}}: the schema allows no "nope" there; the nearest is "id"']],
    ['step.twice.anything', at('last'), []],
    ['loop_item.x', at('inEach'), []],
    ['loop_index', at('inInner'), []],
    [
      'loop_item',
      at('last'),
      [`${noStep}: {{loop_item}}: there is no loop_item outside a loop; move the step into a loop, or refer to an earlier step`],
    ],
    [
      'loop_index',
      at(undefined),
      [`${noStep}: {{loop_index}}: there is no loop_index outside a loop; move the step into a loop, or refer to an earlier step`],
    ],
    ['step.inEach', at('inInner'), []],
    [
      'step.inEach',
      at('last'),
      [
        `${noStep}: {{step.inEach}}: step "inEach" runs once for each item of a loop, so from outside it has no single output; refer to the loop's own output, the list {{step.each}}`,
      ],
    ],
    [
      'step.inInner',
      at('last'),
      [
        `${noStep}: {{step.inInner}}: step "inInner" runs once for each item of a loop, so from outside it has no single output; refer to the loop's own output, the list {{step.each}}`,
      ],
    ],
    [
      'step.inInner',
      at('inEach'),
      [
        `${noStep}: {{step.inInner}}: step "inInner" has not ended when this step runs; refer to an earlier step, or move this one behind it`,
      ],
    ],
    [
      'step.inEach',
      at(undefined),
      [
        `${noStep}: {{step.inEach}}: step "inEach" runs once for each item of a loop, so from outside it has no single output; refer to the loop's own output, the list {{step.each}}`,
      ],
    ],
    ['step.last', at(undefined), []],
    ['step.lats', at('last'), [`${noStep}: {{step.lats}}: there is no step "lats"; the nearest id is "last"`]],
    ['step.last', at('last'), [`${noStep}: {{step.last}}: a step cannot refer to its own output; refer to an earlier step`]],
    ['step.last', at('last', { seesItself: true }), []],
    [
      'step.last',
      at('call', { seesItself: true }),
      [`${noStep}: {{step.last}}: step "last" has not ended when this step runs; refer to an earlier step, or move this one behind it`],
    ],
    [
      'step.call',
      at('last', { roots: ['run', 'secret', 'workflow_input'] }),
      [`${noStep}: {{step.call}}: there is no step here; use run, workflow_input`],
    ],
  ])('{{%s}} (%#)', (reference, site, problems) => {
    expect(said(`{{${reference}}}`, site)).toEqual(problems.map((problem) => `steps[9]: ${problem}`));
  });

  test('an empty workflow has no nearest step', () => {
    const empty = indexDefinition({ id: 'w', steps: [] });
    expect(said('{{step.a}}', at(undefined, { index: empty }))).toEqual([`steps[9]: ${noStep}: {{step.a}}: there is no step "a"`]);
    expect(said('{{workflow_input.a.b}}', at(undefined, { index: empty }))).toEqual([]);
  });

  test('a doubled id has been reported already', () => {
    const doubled = indexDefinition({
      id: 'w',
      steps: [{ id: 'a', type: 'call' }, any('b'), { id: 'a', type: 'call' }],
    });
    const site = { ...at(undefined), index: doubled, from: doubled.places.get('b') };
    expect(said('{{step.a.nope}}', site)).toEqual([]);
  });

  test('a template that cannot be read is named with its place', () => {
    expect(said({ a: ['ok', '{{step.'] }, at('last'))).toEqual([expect.stringMatching(/^steps\[9\]\.a\[1\]: template\.syntax: /)]);
    expect(said({ a: '{{step.b}} {{step.c}}' }, at('last'))).toHaveLength(2);
  });
});

describe('an expression', () => {
  test.each<[string, Site, string[]]>([
    ['step.call.id == "x"', at('last'), []],
    ['step.nope.id == "x"', at('last'), ['template.missing_step: there is no step "nope"; the nearest id is "call"']],
    [
      'loop_item > 1',
      at('last'),
      ['template.missing_step: there is no loop_item outside a loop; move the step into a loop, or refer to an earlier step'],
    ],
    ['loop_item > 1', at('inEach'), []],
    [
      'event.x == step.nope',
      at('last'),
      ['template.missing_step: there is no event here; use workflow_input, step, loop_item, loop_index, run'],
    ],
    ['event.x == 1', at('last', { roots: ['event'] }), []],
  ])('%s (%#)', (text, site, problems) => {
    expect(expressed(text, site)).toEqual(problems.map((problem) => `steps[9].if: ${problem}`));
  });
  test('that cannot be read is refused by what its reader says', () => {
    expect(expressed('1 +', at('last'))).toEqual([expect.stringMatching(/^steps\[9\]\.if: condition\.syntax: /)]);
  });
});
