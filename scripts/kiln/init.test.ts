import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { expect, test } from 'vitest';
import { ROOT } from '../root.ts';
import { checkSettings, rewritesOutside } from './doctor-machine.ts';
import { aliasText, envText, problemOf, rewritesText } from './init.ts';
import type { Answers } from './init.ts';

const answers: Answers = {
  project: 'acme-kiln',
  region: 'europe-west1',
  mailFrom: 'kiln@acme.test',
  model: 'gpt-5-mini',
  serviceAccount: '4711-compute@developer.gserviceaccount.com',
};
const firebaseJson = readFileSync(join(ROOT, 'firebase.json'), 'utf8');

test('what init writes down, the doctor finds complete', () => {
  const env = parseEnv(envText(answers, ''));
  const settled = JSON.parse(rewritesText(firebaseJson, answers.region)) as unknown;
  expect(checkSettings({ project: 'acme-kiln', env, firebaseJson: settled })).toEqual([expect.objectContaining({ state: 'ok' })]);
});

test('a second time keeps what a person added, and changes what was asked', () => {
  const first = `${envText(answers, '')}KILN_SECRETS=OPENAI_API_KEY,CRM_TOKEN\nMY_OWN=1\n`;
  const env = parseEnv(envText({ ...answers, model: 'gpt-5' }, first));
  expect(env).toMatchObject({
    KILN_SECRETS: 'OPENAI_API_KEY,CRM_TOKEN',
    MY_OWN: '1',
    KILN_DEFAULT_MODEL: 'gpt-5',
    KILN_REGION: 'europe-west1',
  });
});

test('the settings hold no secret', () => {
  expect(Object.keys(parseEnv(envText(answers, ''))).filter((name) => name.endsWith('_KEY') || name.endsWith('_TOKEN'))).toEqual([]);
});

test('rewrites follow the region; nothing else of firebase.json changes', () => {
  const moved = rewritesText(firebaseJson, 'europe-west1');
  expect(rewritesOutside(JSON.parse(moved), 'europe-west1')).toEqual([]);
  expect(rewritesOutside(JSON.parse(moved), 'us-central1')).not.toEqual([]);
  expect(moved.replaceAll('europe-west1', 'us-central1')).toBe(firebaseJson.replaceAll('europe-west1', 'us-central1'));
});

test('the alias is added; the default stays the local project', () => {
  expect(JSON.parse(aliasText('{"projects":{"default":"demo-kiln"},"targets":{}}', 'acme-kiln'))).toEqual({
    projects: { default: 'demo-kiln', production: 'acme-kiln' },
    targets: {},
  });
});

test.each([
  ['project', 'demo-kiln'],
  ['project', 'Acme'],
  ['region', 'europe'],
  ['mailFrom', 'kiln'],
  ['model', ''],
  ['serviceAccount', 'me@acme.test'],
] as const)('%s "%s" is asked for again', (name, value) => {
  expect(problemOf(name, value)).toBeDefined();
  expect(problemOf(name, answers[name])).toBeUndefined();
});
