interface Explained {
  readonly pattern: RegExp;
  readonly reason: string;
}

/** Changes to the rules that cannot be noticed, and why. */
export const explained: readonly Explained[] = [
  {
    pattern: /^mayDecide .*request\.time\.toMillis\(\) < asked\.deadlineAt: < → <=/,
    reason:
      'differs in the very millisecond of the deadline only; the server sets the time, so no request can hit it, and the engine judges by the time of creation again',
  },
  {
    pattern: /^validEvent .*receivedAt - request\.time\.toMillis\(\)\) <= 300000: (?:<= → <|300000 → 300001)/,
    reason: 'differs for an event that is five minutes off to the millisecond; the server sets the time, so no request can hit it',
  },
  {
    pattern: /^\/accounts\/\{acc\} .*: allow get, list$/,
    reason: 'a list of all accounts names none in which a membership could be looked up: an error, which denies',
  },
];
