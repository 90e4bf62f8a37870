import { Button, NativeSelect } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useMemo, useState, type ReactNode } from 'react';
import { z } from 'zod';
import type { Json } from '@engine/json.ts';
import { paths } from '@model/paths.ts';
import { useAccount } from '../data/account.tsx';
import { useLiveDoc, useLiveList } from '../data/live.ts';
import { queries } from '../data/queries.ts';
import { useUser } from '../data/session.tsx';
import { versionShape, workflowShape } from '../data/shapes.ts';
import { writeRequest } from '../data/writes.ts';
import { initialValue, isObject } from '../forms/fields.ts';
import { JsonInput, SchemaForm } from '../forms/schema-form.tsx';
import { faultsOf, type Fault } from '../forms/validate.ts';
import { useText } from '../text/text.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import styles from './runs-page.module.css';

interface StartProps {
  readonly open: boolean;
  readonly onClose: () => void;
  /** Fixed where the dialog is opened from a workflow's page. */
  readonly workflowId?: string;
}

/** What the engine answers on a request to start. */
const requestShape = z.object({
  status: z.enum(['pending', 'started', 'refused']),
  runId: z.string().optional(),
  reason: z.string().optional(),
});

export function StartDialog({ open, onClose, workflowId }: StartProps): ReactNode {
  const { t } = useText();
  return (
    <Dialog open={open} onClose={onClose} title={t.runs.start}>
      <Start {...(workflowId === undefined ? {} : { fixed: workflowId })} />
    </Dialog>
  );
}

function Start({ fixed }: { readonly fixed?: string }): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const workflows = useLiveList(queries.workflows(accountId), workflowShape);
  const [chosen, setChosen] = useState(fixed);
  if (workflows.state === 'loading') return <Loading lines={3} />;
  if (workflows.state === 'failed') return <Problem error={workflows.error} />;
  const workflow = workflows.value.find((item) => item.id === chosen) ?? workflows.value[0];
  if (workflow === undefined) return <Empty icon="flow" title={t.runs.startDialog.none.title} text={t.runs.startDialog.none.text} />;
  return (
    <div className={styles['start']}>
      {fixed === undefined ? (
        <NativeSelect
          label={t.runs.startDialog.choose}
          description={t.runs.startDialog.version(workflow.value.latest)}
          value={workflow.id}
          onChange={(event) => setChosen(event.currentTarget.value)}
          data={workflows.value.map((item) => ({ value: item.id, label: item.value.name === '' ? item.id : item.value.name }))}
        />
      ) : null}
      <InputForm key={workflow.id} workflowId={workflow.id} version={workflow.value.latest} />
    </div>
  );
}

function InputForm({ workflowId, version }: { readonly workflowId: string; readonly version: number }): ReactNode {
  const { accountId } = useAccount();
  const live = useLiveDoc(paths.version(accountId, workflowId, version), versionShape);
  const schema = useMemo(
    () => (live.state === 'ready' && live.value !== undefined ? inputSchemaOf(live.value.value.json) : undefined),
    [live],
  );
  if (live.state === 'loading') return <Loading lines={3} />;
  if (live.state === 'failed') return <Problem error={live.error} />;
  return <StartForm workflowId={workflowId} schema={schema} />;
}

function inputSchemaOf(definition: string): Json | undefined {
  const parsed = JSON.parse(definition) as Json;
  return isObject(parsed) ? parsed['input'] : undefined;
}

/** The form for a run of one workflow. */
export function StartForm({ workflowId, schema }: { readonly workflowId: string; readonly schema: Json | undefined }): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const { uid } = useUser();
  const [value, setValue] = useState<Json>(() => (schema === undefined ? {} : initialValue(schema)));
  const [faults, setFaults] = useState<readonly Fault[]>([]);
  const [requestId, setRequestId] = useState<string>();
  const [problem, setProblem] = useState<unknown>();

  const submit = async (): Promise<void> => {
    const found = schema === undefined ? [] : await faultsOf(schema, value);
    setFaults(found);
    if (found.length > 0) return;
    try {
      setProblem(undefined);
      setRequestId(await writeRequest(accountId, workflowId, JSON.stringify(value), uid));
    } catch (error) {
      setProblem(error);
    }
  };

  return (
    <form
      className={styles['start']}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {schema === undefined ? (
        <JsonInput
          label={t.runs.startDialog.input}
          description={t.runs.startDialog.noSchema}
          required={false}
          error={undefined}
          value={value}
          onChange={(next) => setValue(next ?? null)}
        />
      ) : (
        <SchemaForm schema={schema} value={value} onChange={setValue} faults={faults} />
      )}
      {faults.length === 0 ? null : (
        <p className={styles['refused']} role="alert">
          {t.runs.startDialog.faults}
        </p>
      )}
      {problem === undefined ? null : <Problem error={problem} compact />}
      {requestId === undefined ? null : <Answer requestId={requestId} />}
      <div className={styles['actions']}>
        <Button type="submit" size="md">
          {t.runs.startDialog.go}
        </Button>
      </div>
    </form>
  );
}

/** Waits for the engine's answer and goes to the run. */
function Answer({ requestId }: { readonly requestId: string }): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const navigate = useNavigate();
  const live = useLiveDoc(paths.request(accountId, requestId), requestShape);
  const answer = live.state === 'ready' ? live.value?.value : undefined;
  const runId = answer?.runId;
  useEffect(() => {
    if (runId !== undefined) void navigate({ to: '/a/$accountId/runs/$runId', params: { accountId, runId } });
  }, [accountId, navigate, runId]);
  if (answer?.status === 'refused') {
    return (
      <p className={styles['refused']} role="alert">
        <strong>{t.runs.startDialog.refused}.</strong> {answer.reason}
      </p>
    );
  }
  return (
    <p className="soft" role="status">
      {t.runs.startDialog.asking}
    </p>
  );
}
