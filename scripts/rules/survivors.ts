interface Explained {
  readonly pattern: RegExp;
  readonly reason: string;
}

/** Changes to the rules that cannot be noticed, and why. */
export const explained: readonly Explained[] = [];
