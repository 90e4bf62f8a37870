import { Button } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import { useText } from '../text/text.tsx';
import { describeProblem } from '../data/problem.ts';
import { Icon } from './icons.tsx';
import { toast } from './toast.tsx';

interface DownloadProps {
  readonly label: string;
  readonly name: string;
  /** Fetches the text; its kind is JSON Lines. */
  readonly text: () => Promise<string>;
}

/** Saves a text as a file. */
export function DownloadButton({ label, name, text }: DownloadProps): ReactNode {
  const { t } = useText();
  const [busy, setBusy] = useState(false);
  const save = async (): Promise<void> => {
    setBusy(true);
    try {
      const url = URL.createObjectURL(new Blob([await text()], { type: 'application/x-ndjson' }));
      const link = document.createElement('a');
      link.href = url;
      link.download = name;
      link.click();
      URL.revokeObjectURL(url);
    } catch (error) {
      const { title, help } = describeProblem(error, t);
      toast('bad', `${title} ${help}`.trim());
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button
      variant="subtle"
      color="gray"
      size="compact-xs"
      loading={busy}
      leftSection={<Icon name="external" size={14} />}
      onClick={() => void save()}
    >
      {label}
    </Button>
  );
}
