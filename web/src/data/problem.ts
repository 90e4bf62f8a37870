import type { Catalogue } from '../text/en/index.ts';

/** Something that went wrong, ready to be shown: what happened and what to do. */
export interface Shown {
  readonly title: string;
  readonly help: string;
  /** The technical text, for a report. */
  readonly detail?: string;
}

/** An operation that the deployed functions do not know. */
export class MissingOperation extends Error {
  override readonly name = 'MissingOperation';
  readonly op: string;

  constructor(op: string) {
    super(`the api does not know the operation "${op}"`);
    this.op = op;
  }
}

export function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
  return code.slice(code.lastIndexOf('/') + 1);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function describeProblem(error: unknown, t: Catalogue): Shown {
  const { problems } = t;
  if (error instanceof MissingOperation) return problems.opMissing(error.op);
  switch (codeOf(error)) {
    case 'permission-denied':
      return problems.denied;
    case 'unauthenticated':
      return problems.signIn;
    case 'unavailable':
    case 'deadline-exceeded':
    case 'network-request-failed':
      return problems.unavailable;
    case 'not-found':
      return { ...problems.missing, detail: messageOf(error) };
    case 'resource-exhausted':
      return problems.quota;
    case 'functions-unreachable':
      return problems.functionsDown;
    case 'failed-precondition':
      return messageOf(error).includes('index') ? problems.index : { title: messageOf(error), help: '' };
    case 'invalid-argument':
    case 'already-exists':
    case 'aborted':
    case 'out-of-range':
      // The server's own words: they say what was wrong and what to do.
      return { title: messageOf(error), help: '' };
    default:
      return { ...problems.unknown, detail: messageOf(error) };
  }
}
