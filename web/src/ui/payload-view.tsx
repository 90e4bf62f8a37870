import { Button } from '@mantine/core';
import { useMemo, useState, type ReactNode } from 'react';
import type { Json } from '@engine/json.ts';
import type { RunRef } from '@model/paths.ts';
import type { Payload } from '@model/payload.ts';
import { payloadText } from '../data/payload.ts';
import { useText } from '../text/text.tsx';
import { JsonView } from './json-view.tsx';
import styles from './payload-view.module.css';

/** A stored value: read when it is small, on request when it is large. */
export function PayloadView({ run, payload }: { readonly run: RunRef; readonly payload: Payload }): ReactNode {
  const { t, format } = useText();
  const [loaded, setLoaded] = useState<string>();
  const [failed, setFailed] = useState<unknown>();
  const text = payload.json ?? loaded;
  const value = useMemo(() => (text === undefined ? undefined : parsed(text)), [text]);
  if (text === undefined) {
    return (
      <div className={styles['large']}>
        <Button variant="default" size="compact-sm" onClick={() => void payloadText(run, payload).then(setLoaded, setFailed)}>
          {t.common.loadAll(format.bytes(payload.size))}
        </Button>
        {failed === undefined ? null : <span role="alert">{t.problems.title}</span>}
      </div>
    );
  }
  return <div className={styles['payload']}>{value === undefined ? <pre>{text}</pre> : <JsonView value={value} />}</div>;
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
