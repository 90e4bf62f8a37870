import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { z } from 'zod';
import type { Json } from '@engine/json.ts';
import { errorCodes, type ErrorRecord } from '@model/errors.ts';
import type { RunRecord } from '@model/run.ts';
import { useAccount } from '../data/account.tsx';
import { useText } from '../text/text.tsx';
import { JsonView } from '../ui/json-view.tsx';
import styles from './run-page.module.css';

const problemsSchema = z.array(z.object({ path: z.string(), message: z.string() }));

/** Why the run failed or was rejected. */
export function RunError({ run }: { readonly run: RunRecord }): ReactNode {
  const { accountId } = useAccount();
  const { error } = run;
  return (
    <>
      {error === undefined ? null : (
        <ErrorView error={error}>
          {error.stepKey === undefined ? null : (
            <Link to="/a/$accountId/runs/$runId" params={{ accountId, runId: run.runId }} search={{ step: error.stepKey }}>
              {error.stepKey}
            </Link>
          )}
        </ErrorView>
      )}
      <RejectedProblems text={run.problems} />
    </>
  );
}

/** Message, what it means and what to do next, from the table of codes that the engine has. */
export function ErrorView({ error, children }: { readonly error: ErrorRecord; readonly children?: ReactNode }): ReactNode {
  const { t } = useText();
  const help = Object.hasOwn(errorCodes, error.code) ? errorCodes[error.code as keyof typeof errorCodes].help : undefined;
  return (
    <div className={styles['error']} role="group" aria-label={t.run.error}>
      <strong>{error.message}</strong>
      {help === undefined ? null : <p className="small">{help}</p>}
      <p className="small soft">
        <code>{error.code}</code> {children}
      </p>
      {error.data === undefined ? null : <JsonView value={error.data as Json} />}
    </div>
  );
}

function RejectedProblems({ text }: { readonly text: string | undefined }): ReactNode {
  const { t } = useText();
  const problems = problemsSchema.safeParse(parsed(text));
  if (!problems.success || problems.data.length === 0) return null;
  return (
    <section>
      <h2>{t.run.problems}</h2>
      <ul>
        {problems.data.map((problem, index) => (
          <li key={index}>
            <code>{problem.path}</code> {problem.message}
          </li>
        ))}
      </ul>
    </section>
  );
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
