/** Takes step keys apart. Keys are paths: `each[17].fan.left.mail`, `check.then.mail`, `pay.onException.note`. */

export type Part =
  | { readonly kind: 'iteration'; readonly index: number }
  | { readonly kind: 'then' | 'else' | 'exception' }
  | { readonly kind: 'branch'; readonly name: string };

/** One enclosing container, as the key of the container and the list of it that the step is in. */
export interface Enclosing {
  readonly ownerKey: string;
  readonly part: Part;
  /** Key of the list: `each[17]`, `check.then`. */
  readonly key: string;
}

export interface KeyParts {
  /** Outermost first. */
  readonly enclosing: readonly Enclosing[];
  /** The step's own id. */
  readonly id: string;
}

/** Keys of code workflows are names and have no inner structure. */
export function takeApart(key: string, kind: 'graph' | 'code'): KeyParts {
  if (kind === 'code') return { enclosing: [], id: key };
  const tokens = key.split('.');
  const enclosing: Enclosing[] = [];
  let ownerKey = '';
  let at = 0;
  while (at < tokens.length - 1) {
    const token = tokens[at] ?? '';
    const bracket = token.indexOf('[');
    if (bracket !== -1) {
      const owner = join(ownerKey, token.slice(0, bracket));
      ownerKey = join(ownerKey, token);
      enclosing.push({ ownerKey: owner, part: { kind: 'iteration', index: Number(token.slice(bracket + 1, -1)) }, key: ownerKey });
      at += 1;
    } else {
      const owner = join(ownerKey, token);
      const name = tokens[at + 1] ?? '';
      // A join such as `each.$join` stands beside its container, not in a list of it.
      if (name.startsWith('$')) break;
      ownerKey = join(owner, name);
      enclosing.push({ ownerKey: owner, part: partOf(name), key: ownerKey });
      at += 2;
    }
  }
  return { enclosing, id: tokens.at(-1) ?? key };
}

function join(prefix: string, token: string): string {
  return prefix === '' ? token : `${prefix}.${token}`;
}

function partOf(name: string): Part {
  switch (name) {
    case 'then':
      return { kind: 'then' };
    case 'else':
      return { kind: 'else' };
    case 'onException':
      return { kind: 'exception' };
    default:
      return { kind: 'branch', name };
  }
}
