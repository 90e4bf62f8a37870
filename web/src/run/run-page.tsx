import type { ReactNode } from 'react';
export function RunPage(): ReactNode {
  return <p>run</p>;
}
