import { describe, expect, test } from 'vitest';
import { indexDefinition, placeOf } from '../engine/definition-index.ts';
import { checkDefinition, parseDefinition } from '../engine/preflight.ts';
import { ActionRegistry } from './action-registry.ts';
import { approval } from './approval.ts';
import { createStepRegistry } from './index.ts';

const good = { id: 'ask', type: 'approval', title: 'Pay {{workflow_input.to}}', approvers: { roles: ['approver'] } };

async function problems(fields: object): Promise<string[]> {
  const parsed = parseDefinition({ id: 'wf', steps: [{ ...good, ...fields }] });
  if (parsed.definition === undefined) return parsed.problems.map(({ message }) => message);
  const index = indexDefinition(parsed.definition);
  const place = placeOf(index, 'ask');
  const own = checkDefinition(index, createStepRegistry());
  const context = {
    secrets: { fillIn: <T>(value: T) => value },
    accountId: 'acme',
    index,
    place,
    services: { actions: new ActionRegistry([]) },
  };
  const further = own.length > 0 ? [] : await approval.preflight?.(place.step as never, context);
  return [...own, ...(further ?? [])].map(({ message }) => message);
}

describe('pre-flight of an approval', () => {
  test.each([
    ['a plain one', {}],
    ['people from the input', { approvers: { users: ['{{workflow_input.manager}}'] } }],
    [
      'groups instead of approvers',
      { approvers: undefined, quorum: { groups: [{ name: 'legal', approvers: { departments: ['legal'] }, min: 1 }] } },
    ],
    ['own outcomes', { outcomes: ['approve', 'approve_half', 'reject'] }],
    [
      'everything about time',
      {
        deadline: '16h',
        reminders: ['4h'],
        escalation: [{ after: '8h', approvers: { users: ['a'] } }],
        onDeadline: 'escalate',
        calendar: { timeZone: 'Europe/Zurich' },
      },
    ],
    ['a form', { form: { type: 'object' }, values: { a: '{{workflow_input.a}}' } }],
  ])('accepts %s', async (_what, fields) => {
    expect(await problems(fields)).toEqual([]);
  });

  test.each([
    ['nobody to ask', { approvers: {} }, 'say who may decide'],
    ['empty lists of people', { approvers: { users: [], roles: [] } }, 'say who may decide'],
    ['no outcome that agrees', { outcomes: ['reject', 'abstain'] }, 'has to agree'],
    ['an outcome twice', { outcomes: ['approve', 'approve'] }, 'named twice'],
    ['a comment for an outcome that is not offered', { commentRequired: ['veto'] }, 'not among the outcomes'],
    ['a deadline that approves where nobody can', { outcomes: ['sign'], onDeadline: 'approve' }, 'not among the outcomes'],
    ['an escalation to nobody', { onDeadline: 'escalate' }, 'there is no escalation'],
    ['a form without values', { form: { type: 'object' } }, 'give "values"'],
    ['a calendar without a deadline', { calendar: {} }, 'state the deadline'],
    ['a reminder at no time', { reminders: ['soon'] }, 'a duration is'],
    ['a reminder at once', { reminders: ['0s'] }, 'no time after'],
    ['an escalation at no time', { escalation: [{ after: '0s', approvers: { users: ['a'] } }] }, 'no time after'],
    ['a deadline that is no time', { deadline: 'friday' }, 'a duration is'],
    ['a form that is no schema', { form: { type: 'thing' }, values: {} }, 'type'],
    ['a field that it does not know', { approver: 'ada' }, 'approver'],
    ['an outcome that is no word', { outcomes: ['Approve!'] }, 'small letters'],
  ])('refuses %s', async (_what, fields, message) => {
    expect((await problems(fields)).join('\n')).toContain(message);
  });

  test('knows what later steps see', () => {
    expect(approval.outputSchema?.({ form: { type: 'object' } })).toMatchObject({
      properties: { values: { type: 'object' }, outcome: { type: 'string' } },
    });
  });
});
