import { Button } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import type { Json } from '@engine/json.ts';
import { waitingReason } from '@engine/waiting-reason.ts';
import type { RunRecord } from '@model/run.ts';
import { isLive, type Attempt, type StepRecord } from '@model/step.ts';
import { useText } from '../text/text.tsx';
import { CopyButton } from '../ui/copy.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { useNow } from '../ui/now.ts';
import { PayloadView } from '../ui/payload-view.tsx';
import { StepBadge } from '../ui/status.tsx';
import { Moment } from '../ui/time.tsx';
import { stepAsJson } from './as-json.ts';
import { CommandsDialog } from './commands-dialog.tsx';
import { ErrorView } from './run-error.tsx';
import { sayReason } from './say-reason.ts';
import { factsOf } from './step-facts.ts';
import { Target } from './waiting-panel.tsx';
import styles from './run-page.module.css';

interface DetailsProps {
  readonly run: RunRecord;
  readonly step: StepRecord;
  /** False where the key is the title of what is around it. */
  readonly titled?: boolean;
}

/** Everything that is known of one step. */
export function StepDetails({ run, step, titled = true }: DetailsProps): ReactNode {
  const { t } = useText();
  const [asking, setAsking] = useState(false);
  return (
    <div className={styles['sections']}>
      <header className={styles['stepHead']}>
        {titled ? <h2>{step.key}</h2> : null}
        <p>
          <StepBadge state={step.state} pill /> <span className="small soft">{t.run.type(step.type)}</span>
        </p>
        <StepSentence run={run} step={step} />
        <div className={styles['buttons']}>
          <Button variant="subtle" size="compact-sm" onClick={() => setAsking(true)}>
            {t.commands.title}
          </Button>
          <CopyButton label={t.run.linkToStep} icon="link" text={() => location.href} />
          <CopyButton label={t.common.copyJson} text={() => stepAsJson(step)} />
        </div>
      </header>
      {step.error === undefined ? null : <ErrorView error={step.error} />}
      <Timing step={step} />
      <Provenance step={step} />
      <Progress step={step} />
      {step.output === undefined ? null : (
        <section>
          <h3>{t.run.output}</h3>
          <PayloadView run={run} payload={step.output} />
        </section>
      )}
      {step.editedInput === undefined ? null : (
        <section>
          <h3>{t.run.editedInput}</h3>
          <PayloadView run={run} payload={step.editedInput} />
        </section>
      )}
      {step.input === undefined ? null : (
        <section>
          <h3>{t.run.input}</h3>
          <PayloadView run={run} payload={step.input} />
        </section>
      )}
      <Facts details={step.details} />
      <CommandsDialog run={run} step={step} open={asking} onClose={() => setAsking(false)} />
    </div>
  );
}

/** What the attempt that is under way has written so far. */
function Progress({ step: { state, attempt, progress } }: { readonly step: StepRecord }): ReactNode {
  const { t } = useText();
  if (state !== 'running' || progress?.attempt !== attempt) return null;
  return (
    <section aria-live="polite">
      <h3>{t.run.output}</h3>
      <pre className="small">{progress.text}…</pre>
    </section>
  );
}

/** What it waits for, and the way there. */
function StepSentence({ run, step }: { readonly run: RunRecord; readonly step: StepRecord }): ReactNode {
  const { t, format } = useText();
  const now = useNow(10_000);
  const reason = isLive(step.state) ? waitingReason({ run: { ...run, status: 'running' }, steps: [step] }) : undefined;
  if (reason === undefined) return null;
  return (
    <p>
      {sayReason(reason, t)}
      {reason.until === undefined ? '' : `, ${t.waiting.until(format.moment(reason.until, now))}`}. <Target step={step} />
    </p>
  );
}

function Timing({ step }: { readonly step: StepRecord }): ReactNode {
  const { t, format } = useText();
  const now = useNow(1_000);
  const started = step.startedAt;
  const end = step.endedAt ?? (isLive(step.state) ? now : undefined);
  return (
    <section>
      <h3>{t.run.timing}</h3>
      <dl className={styles['pairs']}>
        <dt>{t.run.started}</dt>
        <dd>
          <Moment at={started ?? step.createdAt} />
        </dd>
        <dt>{t.run.queued}</dt>
        <dd className="numbers">{format.duration(Math.max(0, (started ?? now) - step.createdAt))}</dd>
        {started === undefined || end === undefined ? null : (
          <>
            <dt>{t.run.ran}</dt>
            <dd className="numbers">{format.duration(Math.max(0, end - started))}</dd>
          </>
        )}
      </dl>
      {step.attempts.length < 2 && step.attempts[0]?.error === undefined ? null : (
        <>
          <h3>{t.run.attempts}</h3>
          <ol className={styles['attempts']}>
            {step.attempts.map((attempt) => (
              <AttemptRow key={attempt.n} attempt={attempt} />
            ))}
          </ol>
        </>
      )}
    </section>
  );
}

function AttemptRow({ attempt }: { readonly attempt: Attempt }): ReactNode {
  const { t, format } = useText();
  const now = useNow(1_000);
  return (
    <li data-outcome={attempt.outcome ?? 'running'}>
      {t.run.attempt(attempt.n)} {t.run.attemptOutcome[attempt.outcome ?? 'running']},{' '}
      <span className="numbers">{format.duration(Math.max(0, (attempt.endedAt ?? now) - attempt.startedAt))}</span>
      {attempt.error === undefined ? null : <p className="soft">{attempt.error.message}</p>}
      {attempt.nextAt === undefined ? null : <p className="soft">{t.run.nextAt(format.clock(attempt.nextAt))}</p>}
    </li>
  );
}

function Provenance({ step }: { readonly step: StepRecord }): ReactNode {
  const { t, format } = useText();
  const facts = factsOf(step.details);
  if (facts.model === undefined) return null;
  return (
    <section>
      <h3>{t.run.provenance}</h3>
      <dl className={styles['pairs']}>
        <dt>{t.run.model}</dt>
        <dd>{facts.model}</dd>
        {facts.inputTokens === undefined ? null : (
          <>
            <dt>{t.run.tokens}</dt>
            <dd className="numbers">
              {format.number(facts.inputTokens)} / {format.number(facts.outputTokens ?? 0)}
            </dd>
          </>
        )}
        {facts.costUsd === undefined ? null : (
          <>
            <dt>{t.run.cost}</dt>
            <dd className="numbers">{format.money(facts.costUsd)}</dd>
          </>
        )}
        {facts.latencyMs === undefined ? null : (
          <>
            <dt>{t.run.latency}</dt>
            <dd className="numbers">{format.duration(facts.latencyMs)}</dd>
          </>
        )}
      </dl>
      {facts.sources.length === 0 ? null : (
        <>
          <h3>{t.run.sources}</h3>
          <ul className="small">
            {facts.sources.map((source, index) => (
              <li key={index}>
                {source.title}
                {source.heading === '' ? '' : ` › ${source.heading}`}
                {source.score === undefined ? '' : ` (${t.knowledge.score(format.percent(source.score))})`}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function Facts({ details }: { readonly details: string | undefined }): ReactNode {
  const { t } = useText();
  if (details === undefined) return null;
  return (
    <details>
      <summary className="small soft">{t.run.details}</summary>
      <JsonView value={JSON.parse(details) as Json} />
    </details>
  );
}
