import type { ErrorRecord } from '../model/errors.ts';

/** Failures that come before anything leaves, or in which the target itself says that it did not act. */
const harmlessCodes =
  /^(?:http\.(?:client_error|server_error|rate_limited|connection|blocked_address|redirect)|request\.invalid|(?:secret|template|duration|date|limit|kb|notify|definition)\..+|mcp\.(?:tool_missing|tool_not_allowed|tool_changed|server_missing|protocol)|step\.(?:timeout|action_unknown|unknown_type)|llm\..+)$/;

/**
 * Whether the failure says that nothing happened. Any other, such as an exception out of the team's own code or an answer that was
 * too large, may have come after the effect. A business exception is an answer: the effect was refused.
 */
export function didNothing(error: Pick<ErrorRecord, 'class' | 'code'>): boolean {
  return error.class === 'business' || (error.class !== 'unknown_outcome' && harmlessCodes.test(error.code));
}
