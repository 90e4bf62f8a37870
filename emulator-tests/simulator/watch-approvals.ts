import type { ApprovalRecord, DecisionRecord } from '../../functions/src/model/approval.ts';
import { rejectingOutcomes } from '../../functions/src/model/approval.ts';
import type { StepRecord } from '../../functions/src/model/step.ts';
import { Violation } from './violation.ts';
import type { Invariant } from './violation.ts';
import type { Change } from './watch.ts';
import type { World } from './world.ts';

interface Vote {
  readonly by: string;
  readonly outcome: string;
  readonly at: number;
}

/** A request for a decision: one outcome, the right one, and the run follows it. */
export function checkApproval(world: World, { path, before, after }: Change<ApprovalRecord>): void {
  const broken = (invariant: Invariant, message: string): void => world.fail(new Violation(invariant, message));
  if (before === undefined) return;
  if (before.status !== 'pending') {
    if (JSON.stringify(before) !== JSON.stringify(after)) {
      broken(
        'an approval has one outcome',
        `${path} was ${before.status} ${before.outcome ?? ''} and became ${after.status} ${after.outcome ?? ''}`,
      );
    }
    return;
  }
  if (after.status === 'pending') return;
  world.counters.operation(
    after.status === 'decided' ? 'approval decided' : after.status === 'expired' ? 'approval expired' : 'approval cancelled',
  );
  if (after.status === 'cancelled') return;
  // What was decided in time, in the order in which the database received it: an independent, simple count.
  const votes = votesOf(world, path).filter(({ at }) => at < after.deadlineAt);
  const expected = resultOf(after, votes);
  if (after.status === 'expired' && world.now < after.deadlineAt) {
    broken('nothing is acted on before its time', `${path} expired ${after.deadlineAt - world.now} ms early`);
  }
  if (after.status === 'expired' && expected !== undefined) {
    broken('a decision in time counts', `${path} expired although it was decided: ${expected}`);
  }
  if (after.status === 'decided' && expected === undefined) {
    broken(
      'a decision too late does not count',
      `${path} is decided (${after.outcome ?? ''}) by ${JSON.stringify(votesOf(world, path))}, deadline ${after.deadlineAt}`,
    );
  }
  if (after.status === 'decided' && expected !== undefined && expected !== after.outcome) {
    broken('an approval has one outcome', `${path} is ${after.outcome ?? ''}, but ${expected} came first`);
  }
  const step = world.store.peek(`accounts/${after.accountId}/runs/${after.runId}/steps/${after.stepKey}`)?.data as StepRecord | undefined;
  const output = JSON.parse(step?.output?.json ?? '{}') as { readonly outcome?: string };
  const said = after.outcome ?? 'expired';
  if (output.outcome !== said) broken('the run follows the approval', `${path} is ${said}, its step says ${output.outcome ?? 'nothing'}`);
}

function votesOf(world: World, path: string): readonly Vote[] {
  return [...world.store.all()]
    .filter((doc) => doc.path.startsWith(`${path}/decisions/`))
    .map((doc) => ({ by: doc.id, outcome: (doc.data as unknown as DecisionRecord).outcome, at: doc.createTime }))
    .sort((a, b) => a.at - b.at || (a.by < b.by ? -1 : 1));
}

/** Every rejection is a veto; agreement needs as many as the rule says. */
function resultOf(approval: ApprovalRecord, votes: readonly Vote[]): string | undefined {
  const quorum = JSON.parse(approval.quorum) as 'any' | 'all' | { readonly quorum: number };
  const [panel] = JSON.parse(approval.approvers) as [{ readonly seats: readonly string[] }];
  const needed = quorum === 'any' ? 1 : quorum === 'all' ? panel.seats.length : quorum.quorum;
  let agreed = 0;
  for (const { outcome } of votes) {
    if (rejectingOutcomes.has(outcome)) return outcome;
    agreed += 1;
    if (agreed >= needed) return outcome;
  }
  return undefined;
}
