/** Changes one member of an object in a JSON text and leaves everything else as it was written. Pure. */
import type { Json } from '@engine/json.ts';
import type { PathPart } from '@engine/json-path.ts';
import type { Place, Places } from './json-places.ts';

export interface Edit {
  readonly from: number;
  readonly to: number;
  readonly insert: string;
}

/** Sets a member, or takes it away when there is no value; undefined when there is nothing to do. */
export function setMember(
  text: string,
  places: Places,
  object: readonly PathPart[],
  name: string,
  value: Json | undefined,
): Edit | undefined {
  const owner = places.all.find((place) => place.kind === 'object' && samePath(place.parts, object));
  if (owner === undefined) return undefined;
  const member = places.all.find(
    (place) => place.parts.length === object.length + 1 && place.parts.at(-1) === name && samePath(place.parts.slice(0, -1), object),
  );
  if (member !== undefined && value !== undefined) return { from: member.from, to: member.to, insert: JSON.stringify(value) };
  if (member !== undefined) return removal(text, member);
  return value === undefined ? undefined : insertion(text, places, owner, name, value);
}

function samePath(a: readonly PathPart[], b: readonly PathPart[]): boolean {
  return a.length === b.length && a.every((part, index) => part === b[index]);
}

/** With the comma before it, or else the one after it. */
function removal(text: string, member: Place): Edit {
  const from = member.key?.from ?? member.from;
  const before = /,\s*$/.exec(text.slice(0, from));
  if (before !== null) return { from: before.index, to: member.to, insert: '' };
  const after = /^\s*,\s*/.exec(text.slice(member.to));
  return { from, to: member.to + (after?.[0].length ?? 0), insert: '' };
}

/** After the last member, on a line of its own when the others are. */
function insertion(text: string, places: Places, owner: Place, name: string, value: Json): Edit {
  const written = `${JSON.stringify(name)}: ${JSON.stringify(value)}`;
  const members = places.all.filter(
    (place) => place.parts.length === owner.parts.length + 1 && samePath(place.parts.slice(0, -1), owner.parts),
  );
  const last = members.sort((a, b) => a.from - b.from).at(-1);
  if (last === undefined) return { from: owner.from + 1, to: owner.from + 1, insert: ` ${written} ` };
  const keyFrom = last.key?.from ?? last.from;
  const lineStart = text.lastIndexOf('\n', keyFrom - 1);
  const indent = text.slice(lineStart + 1, keyFrom);
  const ownLine = lineStart > owner.from && indent.trim() === '';
  return { from: last.to, to: last.to, insert: ownLine ? `,\n${indent}${written}` : `, ${written}` };
}
