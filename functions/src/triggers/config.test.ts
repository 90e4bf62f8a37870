import { expect, test } from 'vitest';
import { readConfig } from './config.ts';

test('workflows may name the secrets of the setting, but not Kiln’s own keys', () => {
  const env = { KILN_SECRETS: 'OPENAI_API_KEY, CRM_TOKEN,,SENDGRID_API_KEY,KILN_METRICS_TOKEN', OPENAI_API_KEY: 'sk-1' };
  expect(readConfig(env)).toMatchObject({ secretNames: ['CRM_TOKEN'], openaiApiKey: 'sk-1' });
});

test('without settings it is the local project in the default region', () => {
  expect(readConfig({})).toMatchObject({ project: 'demo-kiln', region: 'us-central1', secretNames: [], emulated: false });
});

test('the Tasks emulator of firebase-tools is never taken for the queue', () => {
  const hub = { FIREBASE_EMULATOR_HUB: '127.0.0.1:4400', CLOUD_TASKS_EMULATOR_HOST: '127.0.0.1:9496' };
  expect(readConfig(hub).tasksEmulator).toBeUndefined();
  expect(readConfig({ ...hub, KILN_TASKS_HOST: '127.0.0.1:9499' }).tasksEmulator).toBe('127.0.0.1:9499');
});
