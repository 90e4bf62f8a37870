import type { DocumentData } from 'firebase/firestore';
import pc from 'picocolors';

const marks: Readonly<Record<string, string>> = {
  ready: pc.dim('○'),
  running: pc.cyan('◐'),
  waiting: pc.yellow('◔'),
  unresolved: pc.magenta('?'),
  succeeded: pc.green('●'),
  failed: pc.red('✖'),
  skipped: pc.dim('–'),
  cancelled: pc.dim('⊘'),
};

/** One line for a step: mark, key, state, and why. */
export function stepLine(step: DocumentData): string {
  const state = String(step['state']);
  const attempt = Number(step['attempt']) > 1 ? pc.dim(` attempt ${String(step['attempt'])}`) : '';
  const error = step['error'] as { code?: string; message?: string } | undefined;
  const why = error === undefined ? waitWords(step) : pc.red(` ${error.code ?? ''}: ${error.message ?? ''}`);
  return `${marks[state] ?? ' '} ${String(step['key']).padEnd(34)} ${pc.dim(String(step['type']).padEnd(12))} ${state}${attempt}${why}`;
}

/** The same, with what a person can do about it in a terminal. */
export function stepLines(step: DocumentData): string {
  const wait = step['wait'] as { approvalId?: string } | undefined;
  const asks = step['state'] === 'waiting' && wait?.approvalId !== undefined;
  return asks ? `${stepLine(step)}\n    npm run kiln -- approve ${wait.approvalId}` : stepLine(step);
}

function waitWords(step: DocumentData): string {
  const wait = step['wait'] as { kind?: string; event?: string } | undefined;
  if (step['state'] !== 'waiting' || wait === undefined) return '';
  const until = typeof step['wakeAt'] === 'number' ? ` until ${new Date(step['wakeAt']).toLocaleString()}` : '';
  return pc.yellow(` for ${wait.kind === 'event' ? `the event "${wait.event ?? ''}"` : (wait.kind ?? '')}${until}`);
}

export function runLine(run: DocumentData): string {
  const status = String(run['status']);
  const colour = status === 'completed' ? pc.green : status === 'failed' || status === 'rejected' ? pc.red : pc.yellow;
  const people = Number(run['pendingApprovals']) > 0 && status === 'running' ? pc.yellow(' waits for a person') : '';
  return `${String(run['runId']).padEnd(34)} ${String(run['workflowId']).padEnd(22)} ${colour(status)}${people}  ${pc.dim(new Date(Number(run['createdAt'])).toLocaleString())}`;
}

/** The run's output or error, in full. */
export function endLines(run: DocumentData): string {
  const error = run['error'] as { code?: string; message?: string; stepKey?: string } | undefined;
  if (error !== undefined) {
    const at = error.stepKey === undefined ? '' : ` at ${error.stepKey}`;
    return pc.red([`${error.code ?? ''}${at}: ${error.message ?? ''}`, ...problemLines(run)].join('\n'));
  }
  const output = run['output'] as { json?: string; size?: number } | undefined;
  if (output === undefined) return '';
  return output.json === undefined
    ? `output of ${output.size ?? 0} bytes; see the web app`
    : JSON.stringify(JSON.parse(output.json), undefined, 2);
}

/** Why pre-flight rejected it: each place and what is wrong there. */
function problemLines(run: DocumentData): readonly string[] {
  if (typeof run['problems'] !== 'string') return [];
  const problems = JSON.parse(run['problems']) as readonly { readonly path: string; readonly message: string }[];
  return problems.map(({ path, message }) => `  ${path === '' ? '' : `${path}: `}${message}`);
}
