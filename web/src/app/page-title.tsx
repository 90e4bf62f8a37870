import { createContext, use, useEffect, type ReactNode } from 'react';

const CountContext = createContext(0);

/** How many requests wait, for the title of the browser tab. */
export function PageTitleCount({ count, children }: { readonly count: number; readonly children: ReactNode }): ReactNode {
  return <CountContext value={count}>{children}</CountContext>;
}

export function usePageTitle(title: string): void {
  const count = use(CountContext);
  useEffect(() => {
    document.title = `${count > 0 ? `(${count}) ` : ''}${title} · Kiln`;
  }, [count, title]);
}
