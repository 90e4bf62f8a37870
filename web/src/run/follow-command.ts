import { doc, onSnapshot } from 'firebase/firestore';
import { paths, type RunRef } from '@model/paths.ts';
import { services } from '../data/firebase.ts';
import { countReads } from '../data/reads.ts';
import { commandShape } from '../data/shapes.ts';

/** Nobody is left waiting for ever; the history shows the answer whenever it comes. */
const PATIENCE_MS = 60_000;

/** Tells once what came of a command. */
export function followCommand(run: RunRef, commandId: string, tell: (status: 'done' | 'refused', result: string) => void): void {
  const stop = onSnapshot(
    doc(services().db, paths.command(run.accountId, run.runId, commandId)),
    (snapshot) => {
      countReads(1);
      const command = commandShape.safeParse(snapshot.data({ serverTimestamps: 'estimate' }));
      if (!command.success || command.data.status === 'pending') return;
      stop();
      tell(command.data.status, command.data.result ?? '');
    },
    () => stop(),
  );
  setTimeout(stop, PATIENCE_MS);
}
