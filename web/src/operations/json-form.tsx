import { Button, Textarea } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import type { Json } from '@engine/json.ts';
import { fromText } from '../data/knowledge-shape.ts';
import { useText } from '../text/text.tsx';
import { Problem } from '../ui/states.tsx';
import { toast } from '../ui/toast.tsx';
import { useCall } from './use-call.ts';
import styles from './operations.module.css';

interface JsonFormProps {
  readonly op: 'schedules.put' | 'hooks.put' | 'mcp.put';
  readonly initial: Json;
  /** What there is to know before changing it. */
  readonly help: string;
  readonly onDone: () => void;
}

/** What is set up rarely, and has many optional fields, is edited as it is documented. */
export function JsonForm({ op, initial, help, onDone }: JsonFormProps): ReactNode {
  const { t } = useText();
  const [text, setText] = useState(() => JSON.stringify(initial, null, 2));
  const { busy, problem, run } = useCall();
  const value = fromText(text);
  const save = async (): Promise<void> => {
    if (value === undefined || !(await run(op, value))) return;
    toast('good', t.operations.json.saved);
    onDone();
  };
  return (
    <div className={styles['form']}>
      <Textarea
        label={t.operations.json.label}
        description={help}
        autosize
        minRows={8}
        spellCheck={false}
        value={text}
        error={value === undefined ? t.workflows.editor.notJson : undefined}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      {problem === undefined ? null : <Problem error={problem} compact />}
      <Button loading={busy} disabled={value === undefined} onClick={() => void save()}>
        {t.common.save}
      </Button>
    </div>
  );
}

interface RemoveProps {
  readonly question: string;
  readonly onRemove: () => Promise<unknown>;
}

/** Asks first. */
export function RemoveButton({ question, onRemove }: RemoveProps): ReactNode {
  const { t } = useText();
  const [busy, setBusy] = useState(false);
  const remove = async (): Promise<void> => {
    if (!confirm(question)) return;
    setBusy(true);
    await onRemove();
    setBusy(false);
  };
  return (
    <Button variant="default" size="compact-sm" color="red" loading={busy} onClick={() => void remove()}>
      {t.common.remove}
    </Button>
  );
}
