import type { ReactNode } from 'react';
import type { RunRecord } from '@model/run.ts';
import { usePeople } from '../data/account.tsx';
import { useText } from '../text/text.tsx';
import { useNow } from '../ui/now.ts';

export function Starter({ run }: { readonly run: RunRecord }): ReactNode {
  const { t } = useText();
  const people = usePeople();
  const { kind, id } = run.startedBy;
  return kind === 'user' ? people.nameOf(id) : t.runs.startedBy[kind];
}

/** How long it took, or has been going on. */
export function Took({ run }: { readonly run: RunRecord }): ReactNode {
  const { format } = useText();
  const now = useNow(1_000);
  return <span className="numbers">{format.duration((run.endedAt ?? Math.max(now, run.createdAt)) - run.createdAt)}</span>;
}
