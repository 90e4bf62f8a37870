import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import type { RunRecord } from '@model/run.ts';
import { verdictOn } from '@engine/legal-commands.ts';
import { useAccount } from '../data/account.tsx';
import { call } from '../data/api.ts';
import { Starter, Took } from '../runs/run-facts.tsx';
import { useText } from '../text/text.tsx';
import { CopyButton } from '../ui/copy.tsx';
import { DownloadButton } from '../ui/download.tsx';
import { Icon } from '../ui/icons.tsx';
import { Badge, RunBadge } from '../ui/status.tsx';
import { Moment } from '../ui/time.tsx';
import { CommandsDialog } from './commands-dialog.tsx';
import { runAsJson } from './as-json.ts';
import { RunError } from './run-error.tsx';
import styles from './run-page.module.css';

export function RunHead({ run }: { readonly run: RunRecord }): ReactNode {
  const { t } = useText();
  const { accountId, can } = useAccount();
  const [asking, setAsking] = useState<'all' | 'pause' | 'resume' | 'cancel'>();
  const quick = (['pause', 'resume', 'cancel'] as const).filter((kind) => can('operate') && verdictOn(kind, run, undefined).allowed);
  return (
    <header className={styles['head']}>
      <p className="small soft">
        <Link to="/a/$accountId/runs" params={{ accountId }}>
          {t.runs.title}
        </Link>
      </p>
      <div className={styles['titleLine']}>
        <h1>{run.workflowId}</h1>
        <RunBadge status={run.status} waiting={run.pendingApprovals > 0} pill />
        {run.reconciliation === undefined ? null : (
          <Badge
            tone={run.reconciliation === 'mismatch' ? 'bad' : run.reconciliation === 'pending' ? 'idle' : 'good'}
            icon={run.reconciliation === 'mismatch' ? 'warn' : 'check'}
            pill
          >
            {t.statuses.reconciliation[run.reconciliation]}
          </Badge>
        )}
        <div className={styles['actions']}>
          {quick.map((kind) => (
            <Button
              key={kind}
              variant="default"
              size="compact-md"
              leftSection={<Icon name={kind === 'pause' ? 'pause' : kind === 'resume' ? 'play' : 'ban'} size={16} />}
              onClick={() => setAsking(kind)}
            >
              {t.commands.name[kind]}
            </Button>
          ))}
          <Button variant="default" size="compact-md" onClick={() => setAsking('all')}>
            {t.commands.title}
          </Button>
        </div>
      </div>
      {run.status === 'running' ? null : <p>{t.statuses.runSentence[run.status]}</p>}
      <div className={styles['factLine']}>
        <Facts run={run} />
        <CopyButton label={t.common.copyJson} text={() => runAsJson(run)} />
        <CopyButton label={t.common.copyLink} icon="link" text={() => location.href} />
        {can('operate') ? (
          <DownloadButton
            label={t.run.export}
            name={`run-${run.runId}.jsonl`}
            text={async () => (await call('exportRun', run.accountId, { runId: run.runId })).text}
          />
        ) : null}
      </div>
      <RunError run={run} />
      <CommandsDialog
        run={run}
        open={asking !== undefined}
        onClose={() => setAsking(undefined)}
        {...(asking === undefined || asking === 'all' ? {} : { chosen: asking })}
      />
    </header>
  );
}

function Facts({ run }: { readonly run: RunRecord }): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const words = t.run;
  return (
    <dl className={styles['facts']}>
      <div>
        <dt>{words.started}</dt>
        <dd>
          <Moment at={run.createdAt} />
        </dd>
      </div>
      <div>
        <dt>{words.took}</dt>
        <dd>
          <Took run={run} />
        </dd>
      </div>
      <div>
        <dt>{t.runs.columns.by}</dt>
        <dd>
          <Starter run={run} />
        </dd>
      </div>
      <div>
        <dt>{t.runs.workflow}</dt>
        <dd>{run.kind === 'code' ? words.code : words.version(run.version)}</dd>
      </div>
      {run.businessKey === undefined ? null : (
        <div>
          <dt>{words.businessKey}</dt>
          <dd>{run.businessKey}</dd>
        </div>
      )}
      {run.businessState === undefined ? null : (
        <div>
          <dt>{words.businessState}</dt>
          <dd>{run.businessState}</dd>
        </div>
      )}
      {run.deadlineAt === undefined ? null : (
        <div>
          <dt>{words.deadline}</dt>
          <dd>
            <Moment at={run.deadlineAt} />
          </dd>
        </div>
      )}
      {run.forkedFrom === undefined ? null : (
        <div>
          <dt>
            <Link
              to="/a/$accountId/runs/$runId"
              params={{ accountId, runId: run.forkedFrom.runId }}
              search={{ step: run.forkedFrom.stepKey }}
            >
              {words.forkedFrom}
            </Link>
          </dt>
        </div>
      )}
      {run.parent === undefined ? null : (
        <div>
          <dt>
            <Link to="/a/$accountId/runs/$runId" params={{ accountId, runId: run.parent.runId }} search={{ step: run.parent.stepKey }}>
              {words.parent}
            </Link>
          </dt>
        </div>
      )}
    </dl>
  );
}
