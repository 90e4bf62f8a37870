import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { indexDefinition } from '../engine/definition-index.ts';
import { checkDefinition, parseDefinition } from '../engine/preflight.ts';
import { putHookInput } from '../ledger/hooks.ts';
import { putScheduleInput } from '../ledger/schedules.ts';
import { createStepRegistry } from './index.ts';

const page = readFileSync(new URL('../../../docs/steps.md', import.meta.url), 'utf8');
const blocks = [...page.matchAll(/```json (\w+)\n([\s\S]*?)\n```/g)].map(([, kind = '', text = '']) => ({
  kind,
  text,
  value: JSON.parse(text) as unknown,
}));

function problemsOf(definition: unknown): unknown {
  const parsed = parseDefinition(definition);
  return parsed.definition === undefined ? parsed.problems : checkDefinition(indexDefinition(parsed.definition), createStepRegistry());
}

test.each(blocks.map(({ kind, text, value }, n) => [n + 1, kind, text.slice(0, 60), value] as const))(
  'block %i of the guide to steps (%s) passes pre-flight: %s',
  (_n, kind, _text, value) => {
    switch (kind) {
      case 'step':
        return expect(problemsOf({ id: 'doc', steps: [value] })).toEqual([]);
      case 'kiln':
        return expect(problemsOf(value)).toEqual([]);
      case 'hook':
        return expect(putHookInput.safeParse(value).error).toBeUndefined();
      case 'schedule':
        return expect(putScheduleInput.safeParse(value).error).toBeUndefined();
      default:
        throw new Error(`a block of an unknown kind: ${kind}`);
    }
  },
);

test('every step type that touches the world has a section with an example', () => {
  const shown = new Set(blocks.flatMap(({ kind, value }) => (kind === 'step' ? [(value as { type: string }).type] : [])));
  const elsewhere = new Set(['approval', 'wait', 'transform']);
  for (const { type } of createStepRegistry().all()) expect(shown.has(type) || elsewhere.has(type) ? [] : [type]).toEqual([]);
  for (const type of shown) expect(page).toContain(`\n## ${type}\n`);
});
