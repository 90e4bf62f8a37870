import type { WaitingReason } from '@engine/waiting-reason.ts';
import type { Catalogue } from '../text/en/index.ts';

/** The engine's answer in the reader's language, without a full stop. */
export function sayReason(reason: WaitingReason, { waiting }: Catalogue): string {
  const { on } = waiting;
  const what = reason.on ?? '';
  switch (reason.kind) {
    case 'approval':
      return on.approval(what === '' ? waiting.people : what);
    case 'event':
      return on.event(what);
    case 'slot':
      return on.slot(what);
    case 'document':
      return on.document(what);
    case 'retry':
      return on.retry((reason.attempt ?? 0) + 1);
    case 'performing':
      return on.performing(reason.attempt ?? 1);
    case 'unresolved':
    case 'paused':
    case 'run':
    case 'timer':
    case 'beginning':
    case 'ending':
    case 'undoing':
    case 'check':
    case 'mismatch':
      return on[reason.kind];
  }
}
