import { useState } from 'react';
import { useAccount } from '../data/account.tsx';
import { call, type Op } from '../data/api.ts';

type Input<K extends Op> = Parameters<typeof call<K>>[2];

export interface Calling {
  readonly busy: boolean;
  readonly problem: unknown;
  /** Resolves to whether it went well. */
  readonly run: <K extends Op>(op: K, data: Input<K>) => Promise<boolean>;
}

/** Calls an operation and keeps what came of it for the page. */
export function useCall(): Calling {
  const { accountId } = useAccount();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>();
  const run = async <K extends Op>(op: K, data: Input<K>): Promise<boolean> => {
    setBusy(true);
    setProblem(undefined);
    try {
      await call(op, accountId, data);
      return true;
    } catch (error) {
      setProblem(error);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, problem, run };
}
