import pc from 'picocolors';

/** What a check found. `gap` has to be closed, `advice` may be, `unknown` could not be looked at. */
export interface Finding {
  /** Stable, in small words: what scripts and tests go by. */
  readonly check: string;
  readonly state: 'ok' | 'gap' | 'advice' | 'unknown';
  readonly says: string;
  /** The exact command, or the exact page, that closes the gap. */
  readonly fix?: string;
}

export function ok(check: string, says: string): Finding {
  return { check, state: 'ok', says };
}

export function gap(check: string, says: string, fix: string): Finding {
  return { check, state: 'gap', says, fix };
}

export function advice(check: string, says: string, fix: string): Finding {
  return { check, state: 'advice', says, fix };
}

export function unknown(check: string, says: string, fix: string): Finding {
  return { check, state: 'unknown', says, fix };
}

const marks: Readonly<Record<Finding['state'], string>> = {
  ok: pc.green('✔'),
  gap: pc.red('✖'),
  advice: pc.yellow('!'),
  unknown: pc.magenta('?'),
};

/** One line for each finding, and below it what to do. */
export function reportLines(findings: readonly Finding[]): string {
  const lines = findings.map(({ state, check, says, fix }) => {
    const line = `${marks[state]} ${check.padEnd(12)} ${says}`;
    return fix === undefined ? line : `${line}\n${' '.repeat(15)}${pc.cyan(fix)}`;
  });
  const count = (state: Finding['state']): number => findings.filter((finding) => finding.state === state).length;
  const open = count('gap') + count('unknown');
  const end =
    open === 0
      ? pc.green('Everything that was looked at is in order.')
      : pc.red(
          `${count('gap')} to close, ${count('unknown')} could not be looked at. Run the commands from the top; many later ones follow from the first.`,
        );
  return [...lines, '', end].join('\n');
}
