import { expect, test } from 'vitest';
import { endLines, stepLines } from './show.ts';

test('a rejected run shows every problem that pre-flight found, each with its place', () => {
  const problems = JSON.stringify([
    { path: 'workflow_input', code: 'schema.mismatch', message: 'needs the property "vendor"' },
    { path: 'steps[1].url', code: 'template.missing_step', message: 'there is no step "x"' },
  ]);
  const lines = endLines({ error: { code: 'preflight.failed', message: '2 problem(s)' }, problems });
  expect(lines).toContain('workflow_input: needs the property "vendor"');
  expect(lines).toContain('steps[1].url: there is no step "x"');
});

test('a step that waits for a person shows the command that decides it', () => {
  const step = { key: 'release', type: 'approval', state: 'waiting', wait: { kind: 'approval', approvalId: 'abc123' } };
  expect(stepLines(step)).toContain('npm run kiln -- approve abc123');
  expect(stepLines({ ...step, state: 'succeeded' })).not.toContain('approve');
});
