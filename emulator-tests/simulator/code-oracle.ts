import type { Json } from '../../functions/src/engine/json.ts';
import type { Act, Program } from './programs.ts';
import type { Expected } from './oracle.ts';

class Thrown extends Error {
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** What a program comes to without a database, retries or time. `invoke` says what a child comes to. */
export function expectedOf(program: Program, n: number, invoke: (workflow: string, n: number) => Expected): Expected {
  const list = (acts: readonly Act[]): Json => acts.map(one);
  const one = (act: Act): Json => {
    switch (act.do) {
      case 'call':
        return { did: { v: act.value } };
      case 'fail':
      case 'throw':
        throw new Thrown(act.code);
      case 'sleep':
        return 'slept';
      case 'event':
        return { received: true };
      case 'approval':
        return { outcome: 'approve' };
      case 'count':
        return { counted: true };
      case 'send':
        return 'sent';
      case 'passing':
        return act.what;
      case 'undo':
        return 'undo';
      case 'invoke': {
        const child = invoke(act.workflow, act.n);
        if (child.ok) return child.value;
        throw new Thrown(child.code.includes('.') ? 'step.child_failed' : child.code);
      }
      case 'if':
        return list(n > act.over ? act.then : act.else);
      case 'each':
        return Array.from({ length: act.times }, () => list(act.body));
      case 'try':
        try {
          return list(act.body);
        } catch (error) {
          if (!(error instanceof Thrown)) throw error;
          return { caught: error.code, then: list(act.caught) };
        }
      case 'all':
        return act.branches.map(list);
      case 'race':
        throw new Error('who wins a race is not for an oracle to say');
    }
  };
  try {
    return { ok: true, value: list(program.acts) };
  } catch (error) {
    if (!(error instanceof Thrown)) throw error;
    return { ok: false, code: error.code };
  }
}
