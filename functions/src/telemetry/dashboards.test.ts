import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { families } from './families.ts';
import type { Family } from './families.ts';

const read = (name: string): string => readFileSync(new URL(`../../../docs/operations/${name}`, import.meta.url), 'utf8');

/** Every series that a family shows, with the labels that it has. */
const known = new Map<string, readonly string[]>();
for (const [name, { type, labels }] of Object.entries(families) as [string, Family][]) {
  const all = ['account', ...labels];
  if (type !== 'histogram') known.set(name, all);
  else for (const end of ['_bucket', '_sum', '_count']) known.set(name + end, end === '_bucket' ? [...all, 'le'] : all);
}

function faults(text: string): string[] {
  const found: string[] = [];
  for (const [, name = '', selector = ''] of text.matchAll(/\b(workflow_[a-z_]+)(?:\{([^}]*)\})?/g)) {
    const labels = known.get(name);
    if (labels === undefined) found.push(`there is no series ${name}`);
    for (const [, label = ''] of selector.matchAll(/([a-z_]+)\s*(?:=~|!=|=)/g))
      if (labels?.includes(label) === false) found.push(`${name} has no label ${label}`);
  }
  return found;
}

describe('what is shipped for Grafana and Prometheus', () => {
  test('the dashboard is JSON and asks for series and labels that there are', () => {
    const dashboard = JSON.parse(read('grafana-dashboard.json')) as { panels: { id: number; targets: { expr: string }[] }[] };
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    const expressions = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    expect(expressions.length).toBeGreaterThan(15);
    expect(faults(expressions.join('\n'))).toEqual([]);
  });

  test('the alert rules do, too', () => {
    const rules = read('prometheus-alerts.yml');
    expect([...rules.matchAll(/- alert: /g)].length).toBeGreaterThan(5);
    expect(faults(rules.replaceAll(/#.*$/gm, ''))).toEqual([]);
  });

  test('every family has a panel or a rule', () => {
    const all = read('grafana-dashboard.json') + read('prometheus-alerts.yml');
    const unused = Object.keys(families).filter(
      (name) => !all.includes(name) && !['workflow_step_attempts_total', 'workflow_waits_total'].includes(name),
    );
    expect(unused).toEqual([]);
  });
});
