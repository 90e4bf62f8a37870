/** Small changes to the rules, each of which some test must notice. */
export interface Mutant {
  /** Line and what was done: stable as long as the line's text is. */
  readonly name: string;
  readonly source: string;
}

interface Edit {
  readonly at: number;
  readonly length: number;
  readonly by: string;
  readonly what: string;
}

export function mutantsOf(source: string): readonly Mutant[] {
  const code = withoutComments(source);
  const edits = [
    ...operands(code),
    ...comparisons(code),
    ...negations(code),
    ...numbers(code),
    ...lists(code),
    ...conditions(code),
    ...methods(code),
  ];
  const seen = new Set<string>();
  return edits.flatMap((edit) => {
    const mutated = source.slice(0, edit.at) + edit.by + source.slice(edit.at + edit.length);
    if (mutated === source || seen.has(mutated)) return [];
    seen.add(mutated);
    return [{ name: `${contextOf(source, edit.at)}: ${edit.what}`, source: mutated }];
  });
}

/** Comments blanked out, so that positions stay. */
function withoutComments(source: string): string {
  return source.replace(/\/\/[^\n]*/g, (comment) => ' '.repeat(comment.length));
}

/** The block and the line in which a change lies: names survive that lines above move. */
function contextOf(source: string, at: number): string {
  const before = source.slice(0, at);
  const block = [...before.matchAll(/(?:match (\S+)|function (\w+))/g)].at(-1);
  const start = before.lastIndexOf('\n') + 1;
  const line = source.slice(start, source.indexOf('\n', at)).trim();
  return `${block?.[1] ?? block?.[2] ?? ''} | ${line}`;
}

/** Each operand of && becomes true, each of || false. */
function* operands(code: string): Iterable<Edit> {
  for (const { index, 0: operator } of code.matchAll(/&&|\|\|/g)) {
    const neutral = operator === '&&' ? 'true' : 'false';
    for (const [from, to] of [
      [leftOf(code, index), index],
      [index + 2, rightOf(code, index + 2)],
    ] as const) {
      const text = code.slice(from, to);
      const lead = text.length - text.trimStart().length;
      const kept = text.trim();
      yield { at: from + lead, length: kept.length, by: neutral, what: `${kept.slice(0, 70)} → ${neutral}` };
    }
  }
}

/** Back to the beginning of the operand that ends here. */
function leftOf(code: string, end: number): number {
  let depth = 0;
  for (let i = end - 1; i >= 0; i -= 1) {
    const char = code[i] ?? '';
    if (')]}'.includes(char)) depth += 1;
    else if ('([{'.includes(char)) {
      if (depth === 0) return i + 1;
      depth -= 1;
    } else if (depth === 0) {
      if (code.startsWith('&&', i) || code.startsWith('||', i)) return i + 2;
      if (/\b(?:if|return) $/.test(code.slice(Math.max(0, i - 8), i + 1))) return i + 1;
    }
  }
  return 0;
}

/** On to the end of the operand that begins here. */
function rightOf(code: string, start: number): number {
  let depth = 0;
  for (let i = start; i < code.length; i += 1) {
    const char = code[i] ?? '';
    if ('([{'.includes(char)) depth += 1;
    else if (')]}'.includes(char)) {
      if (depth === 0) return i;
      depth -= 1;
    } else if (depth === 0 && (char === ';' || code.startsWith('&&', i) || code.startsWith('||', i))) return i;
  }
  return code.length;
}

const opposite: Readonly<Record<string, string>> = { '==': '!=', '<=': '<', '<': '<=', '>=': '>', '>': '>=' };

function* comparisons(code: string): Iterable<Edit> {
  for (const { index, 0: operator } of code.matchAll(/==|<=|>=|(?<=\s)[<>](?=\s)/g)) {
    yield {
      at: index,
      length: operator.length,
      by: opposite[operator] ?? operator,
      what: `${operator} → ${opposite[operator] ?? ''} (at ${column(code, index)})`,
    };
  }
}

function* negations(code: string): Iterable<Edit> {
  for (const { index } of code.matchAll(/!\(/g))
    yield { at: index, length: 1, by: '', what: `negation dropped (at ${column(code, index)})` };
}

function* numbers(code: string): Iterable<Edit> {
  for (const { index, 0: digits } of code.matchAll(/(?<=[(,=+]\s?|, )\d+(?=[),;]|\s|$)/gm)) {
    yield { at: index, length: digits.length, by: String(Number(digits) + 1), what: `${digits} → ${Number(digits) + 1}` };
  }
}

const roleNames = ['viewer', 'author', 'operator', 'approver', 'admin'];

/** Each word of a list is left out; and each list also takes what it should not: another role, another field, another kind. */
function* lists(code: string): Iterable<Edit> {
  for (const { index, 0: list } of code.matchAll(/\[(?:'[\w]+'(?:, )?)+\]/g)) {
    const words = [...list.matchAll(/'(\w+)'/g)].map((match) => match[1] ?? '');
    const written = (kept: readonly string[]): string => `[${kept.map((word) => `'${word}'`).join(', ')}]`;
    const strangers = words.every((word) => roleNames.includes(word))
      ? roleNames
      : code.slice(0, index).endsWith('hasOnly(')
        ? ['forged']
        : ['complete'];
    for (const word of words)
      yield { at: index, length: list.length, by: written(words.filter((other) => other !== word)), what: `without '${word}'` };
    for (const word of strangers.filter((other) => !words.includes(other))) {
      yield { at: index, length: list.length, by: written([...words, word]), what: `with '${word}'` };
    }
  }
}

/** Each rule always, and never. */
function* conditions(code: string): Iterable<Edit> {
  for (const match of code.matchAll(/allow (\w+): if /g)) {
    const at = match.index + match[0].length;
    const length = code.indexOf(';', at) - at;
    for (const by of ['true', 'false']) yield { at, length, by, what: `${match[1] ?? ''} always ${by}` };
  }
}

/**
 * Each rule also for other verbs. Where there is no document before (creations), none after (deletions) or no query (all but
 * lists), conditions that look at it are errors and deny anyway: those changes are left out.
 */
const widened: Readonly<Record<string, readonly string[]>> = { get: ['list', 'create', 'update', 'delete'], create: ['update'] };

function* methods(code: string): Iterable<Edit> {
  for (const match of code.matchAll(/allow (\w+): if ([^;]*);/g)) {
    const [, verb = '', condition = ''] = match;
    for (const more of (widened[verb] ?? []).filter((other) => other !== 'create' || !condition.includes('resource'))) {
      yield { at: match.index + 'allow '.length, length: verb.length, by: `${verb}, ${more}`, what: `allow ${verb}, ${more}` };
    }
  }
}

function column(code: string, at: number): number {
  return at - code.lastIndexOf('\n', at);
}
