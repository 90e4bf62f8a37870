import { claimApproval, reassignApproval, releaseApproval } from '../ledger/handover.ts';
import type { claimInput, reassignInput } from '../ledger/handover.ts';
import { changeMember, delegate, endDelegation, inviteMember } from '../ledger/members.ts';
import type { changeMemberInput, delegateInput, endDelegationInput, inviteInput } from '../ledger/members.ts';
import { roles } from '../model/member.ts';
import { authDirectory } from '../services/people.ts';
import type { z } from 'zod';
import type { Operation } from './api.ts';

/**
 * What people do about people: members, stand-ins, who takes a request on. Each checks its input, and in its own transaction
 * whether the caller may; the roles here only keep out those who never may.
 */
export const peopleOperations: Readonly<Record<string, Operation>> = {
  inviteMember: {
    roles: [],
    run: (runtime, actor, data) => inviteMember(runtime, actor, data as z.input<typeof inviteInput>, authDirectory),
  },
  changeMember: { roles: [], run: (runtime, actor, data) => changeMember(runtime, actor, data as z.input<typeof changeMemberInput>) },
  delegate: { roles, run: (runtime, actor, data) => delegate(runtime, actor, data as z.input<typeof delegateInput>) },
  endDelegation: { roles, run: (runtime, actor, data) => endDelegation(runtime, actor, data as z.input<typeof endDelegationInput>) },
  claimApproval: { roles, run: (runtime, actor, data) => claimApproval(runtime, actor, data as z.input<typeof claimInput>) },
  releaseApproval: { roles, run: (runtime, actor, data) => releaseApproval(runtime, actor, data as z.input<typeof claimInput>) },
  reassignApproval: { roles, run: (runtime, actor, data) => reassignApproval(runtime, actor, data as z.input<typeof reassignInput>) },
};
