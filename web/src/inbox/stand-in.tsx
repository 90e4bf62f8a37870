import { useMemo, type ReactNode } from 'react';
import type { ApprovalRecord } from '@model/approval.ts';
import { usePeople } from '../data/account.tsx';
import { useUser } from '../data/session.tsx';
import { useText } from '../text/text.tsx';
import { useNow } from '../ui/now.ts';
import { Badge } from '../ui/status.tsx';
import { rulesOf } from './shown.ts';
import { hasSeat, standsInFor } from './standing.ts';

/** For whom the reader decides, where that is not the reader alone. */
export function StandIn({ approval }: { readonly approval: ApprovalRecord }): ReactNode {
  const { uid } = useUser();
  const { panels } = useMemo(() => rulesOf(approval), [approval]);
  // Whoever is asked in person needs no list of the members.
  return hasSeat(panels, uid) || !approval.eligible.includes(uid) ? null : <Whose approval={approval} />;
}

function Whose({ approval }: { readonly approval: ApprovalRecord }): ReactNode {
  const { t } = useText();
  const { uid } = useUser();
  const people = usePeople();
  const names = standsInFor(rulesOf(approval).panels, uid, people.all, useNow(60_000)).map((each) => people.nameOf(each));
  return names.length === 0 ? null : (
    <Badge tone="run" icon="person">
      {t.inbox.inPlaceOf(names.join(', '))}
    </Badge>
  );
}
