import type { ReactNode } from 'react';
import { useText } from '../text/text.tsx';
import { useNow } from './now.ts';

/** A relative time; the full time with its zone is the title and is read out. */
export function Ago({ at }: { readonly at: number }): ReactNode {
  const { format } = useText();
  const now = useNow();
  return (
    <time dateTime={new Date(at).toISOString()} title={format.full(at)}>
      {format.relative(at, now)}
    </time>
  );
}

/** A moment: weekday, date and time in the reader's zone. */
export function Moment({ at }: { readonly at: number }): ReactNode {
  const { format } = useText();
  const now = useNow(60_000);
  return (
    <time dateTime={new Date(at).toISOString()} title={format.full(at)}>
      {format.moment(at, now)}
    </time>
  );
}
