import { expect, test } from 'vitest';
import { Operations } from '../testing/operations.testing.ts';
import { answerMetrics } from './metrics.ts';

const { runtime } = new Operations();

test('metrics are closed until a token is set', async () => {
  expect((await answerMetrics(runtime, 'Bearer undefined', undefined)).status).toBe(404);
});

test.each([undefined, '', 'Bearer wrong', 'secret-token', 'bearer secret-token', 'Bearer secret-token '])(
  '"%s" does not open them',
  async (header) => {
    const answer = await answerMetrics(runtime, header, 'secret-token');
    expect(answer.status).toBe(401);
    expect(answer.text).not.toContain('workflow_');
  },
);

test('the token opens them', async () => {
  const answer = await answerMetrics(runtime, 'Bearer secret-token', 'secret-token');
  expect(answer).toMatchObject({ status: 200 });
  expect(answer.contentType).toContain('text/plain');
  expect(answer.text).toContain('# TYPE workflow_executions_total counter');
});
