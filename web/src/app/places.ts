import type { IconName } from '../ui/icons.tsx';

/** The pages of an account, the most used first: a phone shows three of them below and the others in its menu. */
export const places = [
  { to: '/a/$accountId/inbox', name: 'inbox', icon: 'inbox' },
  { to: '/a/$accountId/runs', name: 'runs', icon: 'list' },
  { to: '/a/$accountId/workflows', name: 'workflows', icon: 'flow' },
  { to: '/a/$accountId/recipes', name: 'recipes', icon: 'recipe' },
  { to: '/a/$accountId/knowledge', name: 'knowledge', icon: 'book' },
  { to: '/a/$accountId/numbers', name: 'numbers', icon: 'chart' },
  { to: '/a/$accountId/operations', name: 'operations', icon: 'wrench' },
] as const satisfies readonly { to: string; name: string; icon: IconName }[];

export const ON_PHONE = 3;
