import { expect, test } from 'vitest';
import { legalCommands, type CommandStep } from '@engine/legal-commands.ts';
import { runStatuses } from '@model/run.ts';
import { stepStates, type Wait } from '@model/step.ts';
import { sayInGerman } from './engine.ts';

const waits: readonly Wait[] = [
  { kind: 'timer' },
  { kind: 'retry' },
  { kind: 'slot', limit: 'l' },
  { kind: 'children' },
  { kind: 'approval', approvalId: 'a' },
  { kind: 'event', waitId: 'w', event: 'e' },
  { kind: 'run', runId: 'r' },
  { kind: 'document', path: 'p' },
  { kind: 'turn' },
];

test('every reason of every command is known in German', () => {
  const steps: (CommandStep | undefined)[] = [
    undefined,
    { type: '$join', state: 'succeeded', gate: 'open' },
    ...stepStates.flatMap((state) => (['open', 'paused'] as const).map((gate) => ({ type: 'action', state, gate }))),
    ...waits.map((wait) => ({ type: 'action', state: 'waiting' as const, gate: 'open' as const, wait })),
  ];
  const reasons = new Set<string>();
  for (const status of runStatuses)
    for (const reconciliation of ['mismatch', 'reconciled'] as const)
      for (const deadline of [{}, { deadlineAt: 5 }])
        for (const step of steps) for (const each of legalCommands({ status, reconciliation, ...deadline }, step)) reasons.add(each.reason);
  expect([...reasons].filter((reason) => sayInGerman(reason) === reason)).toEqual([]);
  expect(reasons.size).toBeGreaterThan(30);
});

test('a sentence that is not known stays as it is', () => {
  expect(sayInGerman('the moon is full')).toBe('the moon is full');
});
