import { useMemo, useState, type ReactNode } from 'react';
import { Button } from '@mantine/core';
import { isObject } from '../forms/fields.ts';
import { StartForm } from '../runs/start-dialog.tsx';
import { useAccount } from '../data/account.tsx';
import { call } from '../data/api.ts';
import { useText } from '../text/text.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Problem } from '../ui/states.tsx';
import type { Json } from '@engine/json.ts';
import styles from './workflows.module.css';

/** Runs the text once under an id of its own, so that nothing that starts the real workflow ever meets a half-finished one. */
export function TryDialog({
  open,
  text,
  onClose,
}: {
  readonly open: boolean;
  readonly text: string;
  readonly onClose: () => void;
}): ReactNode {
  const { t } = useText();
  return (
    <Dialog open={open} onClose={onClose} title={t.workflows.editor.try}>
      <Try text={text} />
    </Dialog>
  );
}

const SUFFIX = '-try';

function Try({ text }: { readonly text: string }): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const { id, definition } = useMemo(() => trial(text), [text]);
  const [ready, setReady] = useState(false);
  const [problem, setProblem] = useState<unknown>();
  const prepare = async (): Promise<void> => {
    try {
      await call('publish', accountId, { definition, note: t.workflows.editor.try });
      setReady(true);
    } catch (error) {
      setProblem(error);
    }
  };
  return (
    <div className={styles['stack']}>
      <p>{t.workflows.editor.tryText(id)}</p>
      {problem === undefined ? null : <Problem error={problem} compact />}
      {ready ? (
        <StartForm workflowId={id} schema={definition['input']} />
      ) : (
        <Button onClick={() => void prepare()}>{t.workflows.editor.try}</Button>
      )}
    </div>
  );
}

function trial(text: string): { readonly id: string; readonly definition: { [key: string]: Json } } {
  const parsed = JSON.parse(text) as Json;
  const definition = isObject(parsed) ? parsed : {};
  const id = `${typeof definition['id'] === 'string' ? definition['id'] : ''}${SUFFIX}`;
  return { id, definition: { ...definition, id } };
}
