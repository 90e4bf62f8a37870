import { StoredByNewerCode, upgraded } from '../model/upgrades.ts';
import type { Snapshot } from './store.ts';

/**
 * A document as both stores hand it out: in the form of the present schema version. One that newer code stored is handed out as
 * well, so that it keeps nobody from the others that a query finds; it throws when its data is asked for.
 */
export function readable(snapshot: Snapshot): Snapshot {
  try {
    const data = upgraded(snapshot.path, snapshot.data);
    return data === snapshot.data ? snapshot : { ...snapshot, data };
  } catch (error) {
    if (!(error instanceof StoredByNewerCode)) throw error;
    return {
      ...snapshot,
      get data(): never {
        throw error;
      },
    };
  }
}
