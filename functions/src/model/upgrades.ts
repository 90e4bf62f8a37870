import { engineCollections } from './paths.ts';

export type StoredData = Readonly<Record<string, unknown>>;

/**
 * How documents of an earlier schema version become those of the next, by the collection that they are in: the first entry makes
 * version 2 of version 1. Documents are upgraded each time they are read; an update changes only the fields that it names, so an
 * upgrade may meet a document that newer code has written to, and leaves that be.
 * A field that may be missing needs no version of its own.
 */
const upgrades: Readonly<Record<string, readonly ((data: StoredData) => StoredData)[]>> = {
  // 2: who else stands behind the run, so that the four-eyes rule keeps them out, too.
  approvals: [(data) => ({ ...data, alsoStartedBy: data['alsoStartedBy'] ?? [] })],
};

/** A document that only newer code understands. Whoever meets it stops, and writes nothing. */
export class StoredByNewerCode extends Error {
  override readonly name = 'StoredByNewerCode';

  constructor(path: string, found: number, known: number) {
    super(
      `${path} has schema version ${found}, and this code knows versions up to ${known}: it was stored by a newer Kiln. ` +
        'Deploy that version again, or wait until its deployment is through.',
    );
  }
}

/**
 * The data in the form of the present schema version; a team's own documents as they are.
 *
 * @throws StoredByNewerCode
 */
export function upgraded(path: string, data: StoredData): StoredData {
  const found = data['v'];
  const parent = path.lastIndexOf('/');
  const ahead = upgrades[path.slice(path.lastIndexOf('/', parent - 1) + 1, parent)] ?? [];
  const known = ahead.length + 1;
  // Nearly every document, at every read: so the place of the others is looked at only after this.
  if (typeof found !== 'number' || found === known) return data;
  const [root, , top = ''] = path.split('/');
  if (root !== 'accounts' || !engineCollections.has(top)) return data;
  if (found > known) throw new StoredByNewerCode(path, found, known);
  return ahead.slice(found - 1).reduce((before, upgrade, i) => ({ ...upgrade(before), v: found + i + 1 }), data);
}
