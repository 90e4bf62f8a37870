/** Comments on fields, by the declaration in which they stand and the name of the field. */
export type FieldComments = ReadonlyMap<string, ReadonlyMap<string, string>>;

const declaration = /^(?:export )?(?:const|interface) (\w+)/;
const commented = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*(?:readonly )?(\w+)\??:/g;

/** The comments of a source file: what the code says of a field is what an editor should show. */
export function fieldComments(source: string): FieldComments {
  const scopes = new Map<string, Map<string, string>>();
  for (const { name, text } of declarations(source)) {
    const fields = scopes.get(name) ?? new Map<string, string>();
    for (const [, comment = '', field = ''] of text.matchAll(commented)) {
      // Of two fields of one name, the outer one stands first.
      if (!fields.has(field)) fields.set(field, plain(comment));
    }
    scopes.set(name, fields);
  }
  return scopes;
}

/** Each top-level declaration with its text up to the next one. */
function declarations(source: string): { readonly name: string; readonly text: string }[] {
  const found: { name: string; lines: string[] }[] = [];
  for (const line of source.split('\n')) {
    const name = declaration.exec(line)?.[1];
    if (name === undefined) found.at(-1)?.lines.push(line);
    else found.push({ name, lines: [line] });
  }
  return found.map(({ name, lines }) => ({ name, text: lines.join('\n') }));
}

function plain(comment: string): string {
  return comment
    .split('\n')
    .map((line) => line.trim().replace(/^\*\s?/, ''))
    .join(' ')
    .replaceAll('`', '')
    .trim();
}
