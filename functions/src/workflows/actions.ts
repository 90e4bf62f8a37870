import type { Action } from '../steps/action-registry.ts';

export const actions: readonly Action[] = [];
