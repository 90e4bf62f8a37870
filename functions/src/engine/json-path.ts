export type PathPart = string | number;

const plainKey = /^[A-Za-z_$][\w$-]*$/;

/** The place as people write it: `steps[2].branches.left[0].prompt`. The whole is the empty text. */
export function jsonPath(parts: readonly PathPart[], base = ''): string {
  let path = base;
  for (const part of parts) {
    if (typeof part === 'number') path += `[${part}]`;
    else if (!plainKey.test(part)) path += `[${JSON.stringify(part.toWellFormed())}]`;
    else path += path === '' ? part : `.${part}`;
  }
  return path;
}

/** The parts of a JSON pointer into `root`: a number where the pointer goes through a list. */
export function pointerParts(pointer: string, root: unknown): PathPart[] {
  const parts: PathPart[] = [];
  let current = root;
  for (const raw of pointer.split('/').slice(1)) {
    const key = raw.replaceAll('~1', '/').replaceAll('~0', '~');
    parts.push(Array.isArray(current) ? Number(key) : key);
    current = member(current, key);
  }
  return parts;
}

/** The value at the path, own members only. */
export function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((current, part) => member(current, part), root);
}

function member(value: unknown, key: PropertyKey): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}
