import { useRouter } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useText } from '../text/text.tsx';
import { safeUrl } from './safe-url.ts';

/** A link whose address comes from data: a page of this app is opened in place, another site in a new tab, anything else not at all. */
export function SafeLink({
  url,
  children,
  onFollow,
}: {
  readonly url: string;
  readonly children: ReactNode;
  readonly onFollow?: () => void;
}): ReactNode {
  const { t } = useText();
  const router = useRouter();
  const target = safeUrl(url, location.origin);
  if (target === undefined) return <span title={t.common.linkNotSafe}>{children}</span>;
  if (target.origin === location.origin) {
    return (
      <a
        href={target.href}
        onClick={(event) => {
          event.preventDefault();
          router.history.push(target.pathname + target.search);
          onFollow?.();
        }}
      >
        {children}
      </a>
    );
  }
  return (
    <a href={target.href} target="_blank" rel="noopener noreferrer" onClick={onFollow}>
      {children}
    </a>
  );
}
