import { expect, test } from 'vitest';
import { localEnvironment } from './environment.ts';

const services = {
  CLOUD_TASKS_EMULATOR_HOST: '127.0.0.1:9499',
  OPENAI_BASE_URL: 'http://127.0.0.1:9498/v1',
  OPENAI_API_KEY: 'kiln-dev-key',
  KILN_DEFAULT_MODEL: 'kiln-dev-model',
  SENDGRID_API_KEY: 'SG.kiln-dev-key',
  KILN_MAIL_BASE_URL: 'http://127.0.0.1:9497',
};

test('without settings everything points at the local services', () => {
  const { env, realModel, realMail } = localEnvironment({}, services);
  expect({ realModel, realMail }).toEqual({ realModel: false, realMail: false });
  expect(env).toMatchObject(services);
});

test('a key of one’s own never meets the address or the model name of the dev model', () => {
  const { env, realModel } = localEnvironment({ OPENAI_API_KEY: 'sk-own' }, services);
  expect(realModel).toBe(true);
  expect(env).not.toHaveProperty('OPENAI_BASE_URL');
  expect(env).not.toHaveProperty('OPENAI_API_KEY');
  expect(env).not.toHaveProperty('KILN_DEFAULT_MODEL');
  expect(env['KILN_MAIL_BASE_URL']).toBe(services.KILN_MAIL_BASE_URL);
});

test('mail of one’s own leaves the sink aside', () => {
  const { env, realMail } = localEnvironment({ SENDGRID_API_KEY: 'SG.own' }, services);
  expect(realMail).toBe(true);
  expect(env).not.toHaveProperty('KILN_MAIL_BASE_URL');
});

test('the double of Cloud Tasks is named twice, since the Functions emulator overwrites the usual name', () => {
  expect(localEnvironment({}, services).env['KILN_TASKS_HOST']).toBe('127.0.0.1:9499');
});

test('the secrets of the samples are there, beside the person’s own', () => {
  expect(localEnvironment({}, services).env).toMatchObject({
    KILN_SECRETS: 'DEMO_HOOK_SECRET,HELPDESK_WEBHOOK_KEY',
    HELPDESK_WEBHOOK_KEY: expect.stringMatching(/^whsec_/) as string,
  });
  const { env } = localEnvironment({ KILN_SECRETS: 'CRM_KEY,HELPDESK_WEBHOOK_KEY', HELPDESK_WEBHOOK_KEY: 'mine' }, services);
  expect(env).toMatchObject({ KILN_SECRETS: 'CRM_KEY,HELPDESK_WEBHOOK_KEY,DEMO_HOOK_SECRET', HELPDESK_WEBHOOK_KEY: 'mine' });
});
