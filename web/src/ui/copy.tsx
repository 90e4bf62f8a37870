import { Button } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import { useText } from '../text/text.tsx';
import { Icon, type IconName } from './icons.tsx';

const CONFIRMED_MS = 2_000;

/** Copies a text that may have to be fetched first. */
export function CopyButton({
  label,
  icon = 'copy',
  text,
}: {
  readonly label: string;
  readonly icon?: IconName;
  readonly text: () => string | Promise<string>;
}): ReactNode {
  const { t } = useText();
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(await text());
    setCopied(true);
    setTimeout(() => setCopied(false), CONFIRMED_MS);
  };
  return (
    <Button
      variant="subtle"
      color="gray"
      size="compact-xs"
      leftSection={<Icon name={copied ? 'check' : icon} size={14} />}
      onClick={() => void copy()}
    >
      {copied ? t.common.copied : label}
    </Button>
  );
}
