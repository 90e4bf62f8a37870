import { useEffect, useMemo, useState } from 'react';
import type { Json } from '@engine/json.ts';
import { definitionSchema, type Definition } from '@model/definition.ts';
import { call, type DefinitionProblem } from '../data/api.ts';

export interface Check {
  readonly state: 'not_json' | 'checking' | 'checked' | 'failed';
  readonly problems: readonly DefinitionProblem[];
  /** Whenever the text is one, so that the graph can follow it. */
  readonly definition: Definition | undefined;
  readonly error: unknown;
}

const TYPING_MS = 400;

/**
 * Checks the text while it is written: its form here, its meaning by the pre-flight of the deployed functions, which knows the step types
 * and actions that are really there.
 */
export function useCheck(accountId: string, text: string): Check {
  const json = useMemo(() => parsed(text), [text]);
  const definition = useMemo(() => {
    const read = json === undefined ? undefined : definitionSchema.safeParse(json.value);
    return read?.success === true ? read.data : undefined;
  }, [json]);
  const [answer, setAnswer] = useState<{ text: string; problems: readonly DefinitionProblem[]; error: unknown }>();

  useEffect(() => {
    if (json === undefined) return;
    let current = true;
    const timer = setTimeout(() => {
      call('preflight', accountId, { definition: json.value }).then(
        ({ problems }) => current && setAnswer({ text, problems, error: undefined }),
        (error: unknown) => current && setAnswer({ text, problems: [], error }),
      );
    }, TYPING_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [accountId, json, text]);

  return useMemo(() => {
    if (json === undefined) return { state: 'not_json', problems: [], definition, error: undefined };
    if (answer?.text !== text) return { state: 'checking', problems: [], definition, error: undefined };
    return { state: answer.error === undefined ? 'checked' : 'failed', problems: answer.problems, definition, error: answer.error };
  }, [answer, definition, json, text]);
}

function parsed(text: string): { value: Json } | undefined {
  try {
    return { value: JSON.parse(text) as Json };
  } catch {
    return undefined;
  }
}
