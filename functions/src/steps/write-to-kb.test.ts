import { expect, test } from 'vitest';
import { KilnError } from '../model/errors.ts';
import type { KbInput, KnowledgeBase } from '../services/kb/knowledge-base.ts';
import { createTestKit } from '../testing/test-kit.ts';

function fakeKb(added: KbInput[], fail?: KilnError): KnowledgeBase {
  const not = (): never => {
    throw new Error('not asked');
  };
  return {
    add: (_accountId, input) => {
      added.push(input);
      return fail === undefined ? Promise.resolve({ id: 'doc1', version: 2, changed: true, chunkCount: 3 }) : Promise.reject(fail);
    },
    get: not,
    search: not,
    list: not,
    delete: not,
  };
}

const step = {
  id: 'keep',
  type: 'writeToKb',
  collection: 'cases',
  title: 'Case {{workflow_input.n}}',
  markdown: '# {{workflow_input.text}}',
  tags: ['auto'],
};

test('writes a document with the run as its source', async () => {
  const added: KbInput[] = [];
  const kit = createTestKit({ definitions: { wf: [step] }, services: { kb: fakeKb(added) } });
  const run = await kit.start('wf', { n: 4, text: 'Hello' });
  expect(await kit.result(run)).toEqual({ documentId: 'doc1', version: 2, changed: true, chunkCount: 3 });
  expect(added).toEqual([{ collection: 'cases', title: 'Case 4', markdown: '# Hello', tags: ['auto'], sourceRunId: run.runId }]);
});

test('a document that others change at the same time is tried again', async () => {
  const kit = createTestKit({ definitions: { wf: [step] }, services: { kb: fakeKb([], new KilnError('kb.conflict', 'changed')) } });
  const run = await kit.start('wf', { n: 4, text: 'Hello' });
  expect(kit.step(run, 'keep')).toMatchObject({ state: 'waiting', wait: { kind: 'retry' } });
});

test('without a knowledge base the run is rejected', async () => {
  const kit = createTestKit({ definitions: { wf: [step] } });
  expect(kit.run(await kit.start('wf', { n: 4, text: 'Hello' }))).toMatchObject({
    status: 'rejected',
    problems: expect.stringContaining('kb.missing') as string,
  });
});
