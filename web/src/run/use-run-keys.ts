import { useNavigate } from '@tanstack/react-router';
import type { RunRecord } from '@model/run.ts';
import { readList } from '../data/live.ts';
import { queries } from '../data/queries.ts';
import { runShape } from '../data/shapes.ts';
import { useText } from '../text/text.tsx';
import { useShortcuts } from '../ui/keys.tsx';

/** j and k go to the next and the previous run of the account; each press reads one document. */
export function useRunKeys(run: RunRecord): void {
  const { t } = useText();
  const navigate = useNavigate();
  const go = async (direction: 'older' | 'newer'): Promise<void> => {
    const [next] = await readList(queries.neighbour(run, direction), runShape);
    if (next !== undefined) await navigate({ to: '/a/$accountId/runs/$runId', params: { accountId: run.accountId, runId: next.id } });
  };
  useShortcuts([
    { key: 'j', does: t.keys.nextRun, run: () => void go('older') },
    { key: 'k', does: t.keys.previousRun, run: () => void go('newer') },
  ]);
}
