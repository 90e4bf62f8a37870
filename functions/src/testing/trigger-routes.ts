import { decideApproval } from '../ledger/approvals.ts';
import { attendCommand } from '../ledger/commands.ts';
import { attendEvent } from '../ledger/events.ts';
import { attendOutbox } from '../ledger/outbox.ts';
import { attendRequest } from '../ledger/requests.ts';
import { heldStep } from '../ledger/steps.ts';
import { attend } from '../runner/attend.ts';
import { attendCompletion, attendRun } from '../runner/runs.ts';
import type { Route } from './memory-host.ts';

function partsOf(path: string): readonly string[] {
  return path.split('/').filter((_, i) => i % 2 === 1);
}

/** What the deployed triggers do, by the collection of the document that was created. */
export const triggerRoutes: Readonly<Record<string, Route>> = {
  steps: (runtime, snapshot) => {
    const [accountId = '', runId = '', key = ''] = partsOf(snapshot.path);
    return attend(runtime, { accountId, runId, key }, { kind: 'trigger', held: heldStep(snapshot) });
  },
  runs: (runtime, { path }) => {
    const [accountId = '', runId = ''] = partsOf(path);
    return attendRun(runtime, { accountId, runId });
  },
  completions: (runtime, { path }) => {
    const [accountId = '', runId = ''] = partsOf(path);
    return attendCompletion(runtime, { accountId, runId });
  },
  events: (runtime, { path }) => {
    const [accountId = '', eventId = ''] = partsOf(path);
    return attendEvent(runtime, accountId, eventId);
  },
  decisions: (runtime, { path }) => {
    const [accountId = '', approvalId = '', uid = ''] = partsOf(path);
    return decideApproval(runtime, { accountId, approvalId, uid });
  },
  commands: (runtime, { path }) => {
    const [accountId = '', runId = '', id = ''] = partsOf(path);
    return attendCommand(runtime, { accountId, runId }, id);
  },
  requests: (runtime, { path }) => {
    const [accountId = '', id = ''] = partsOf(path);
    return attendRequest(runtime, accountId, id);
  },
  outbox: (runtime, { path }) => {
    const [accountId = '', id = ''] = partsOf(path);
    return attendOutbox(runtime, accountId, id);
  },
};
