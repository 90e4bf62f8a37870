import { z } from 'zod';
import { KilnError } from '../model/errors.ts';
import { defineAction } from '../steps/action-registry.ts';
import type { Action } from '../steps/action-registry.ts';

/** An action that counts what it did for each run; the first time, runs named `unsure…` and `again…` get no good answer. */
export function racingAction(done: Map<string, number>): Action {
  return defineAction({
    name: 'act',
    input: z.looseObject({}),
    output: z.json(),
    run: (_input, { runId }) => {
      const times = (done.get(runId) ?? 0) + 1;
      done.set(runId, times);
      if (times === 1 && runId.startsWith('unsure')) throw new KilnError('http.interrupted', 'the connection broke');
      if (times === 1 && runId.startsWith('again')) throw new KilnError('http.server_error', '503');
      return 'done';
    },
  });
}
