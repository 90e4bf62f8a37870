import type { ReactNode } from 'react';
import type { RunRecord } from '@model/run.ts';
import { useText } from '../text/text.tsx';
import { PayloadView } from '../ui/payload-view.tsx';
import styles from './run-page.module.css';

export function RunData({ run }: { readonly run: RunRecord }): ReactNode {
  const { t } = useText();
  return (
    <div className={styles['sections']}>
      <section>
        <h2>{t.run.input}</h2>
        <PayloadView run={run} payload={run.input} />
      </section>
      {run.output === undefined ? null : (
        <section>
          <h2>{t.run.output}</h2>
          <PayloadView run={run} payload={run.output} />
        </section>
      )}
    </div>
  );
}
