import { Button, Checkbox, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import type { Json } from '@engine/json.ts';
import { legalCommands, verdictOn, type CommandOption } from '@engine/legal-commands.ts';
import type { CommandKind } from '@model/command.ts';
import type { RunRecord } from '@model/run.ts';
import type { StepRecord } from '@model/step.ts';
import { useAccount } from '../data/account.tsx';
import { useUser } from '../data/session.tsx';
import { writeCommand } from '../data/writes.ts';
import { JsonInput } from '../forms/schema-form.tsx';
import { useText } from '../text/text.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Problem } from '../ui/states.tsx';
import { toast } from '../ui/toast.tsx';
import { argumentOf, needsOf, type CommandChoices, type Need } from './command-argument.ts';
import { followCommand } from './follow-command.ts';
import styles from './run-page.module.css';

interface CommandsProps {
  readonly run: RunRecord;
  readonly step?: StepRecord;
  readonly open: boolean;
  readonly onClose: () => void;
  /** Goes straight to this command. */
  readonly chosen?: CommandKind;
}

/** Everything that can be done; what cannot be done now says why. */
export function CommandsDialog({ run, step, open, onClose, chosen }: CommandsProps): ReactNode {
  const { t } = useText();
  const [kind, setKind] = useState<CommandKind>();
  const current = kind ?? chosen;
  const close = (): void => {
    setKind(undefined);
    onClose();
  };
  const title = current === undefined ? (step === undefined ? t.commands.title : t.commands.forStep(step.key)) : t.commands.name[current];
  return (
    <Dialog open={open} onClose={close} title={title}>
      {current === undefined ? (
        <CommandList run={run} step={step} onChoose={setKind} />
      ) : (
        <CommandForm key={current} run={run} step={step} kind={current} onDone={close} />
      )}
    </Dialog>
  );
}

interface ListProps {
  readonly run: RunRecord;
  readonly step: StepRecord | undefined;
  readonly onChoose: (kind: CommandKind) => void;
}

/** Commands that say nothing about a single step stand on the run only. */
const wholeRun: ReadonlySet<CommandKind> = new Set(['pause', 'resume', 'cancel', 'compensate', 'accept_mismatch']);

function CommandList({ run, step, onChoose }: ListProps): ReactNode {
  const { t } = useText();
  const { can } = useAccount();
  const all = legalCommands(run, step).filter((each) =>
    step === undefined ? wholeRun.has(each.kind) || each.allowed : !wholeRun.has(each.kind),
  );
  const operator = can('operate');
  const hint = (each: CommandOption): string => (operator ? t.engine.say(each.reason) : t.commands.onlyOperators);
  return (
    <ul className={styles['commands']}>
      {all.map((each) => (
        <li key={each.kind}>
          <div>
            <strong>{t.commands.name[each.kind]}</strong>
            <p className="small soft">{hint(each)}</p>
          </div>
          <Button variant="default" disabled={!operator || !each.allowed} onClick={() => onChoose(each.kind)}>
            {t.common.open}
          </Button>
        </li>
      ))}
    </ul>
  );
}

interface FormProps {
  readonly run: RunRecord;
  readonly step: StepRecord | undefined;
  readonly kind: CommandKind;
  readonly onDone: () => void;
}

function CommandForm({ run, step, kind, onDone }: FormProps): ReactNode {
  const { t } = useText();
  const { uid } = useUser();
  const [reason, setReason] = useState('');
  const [choices, setChoices] = useState<CommandChoices>({});
  const [problem, setProblem] = useState<unknown>();
  const words = t.commands;
  const name = words.name[kind];
  const needs = needsOf(kind, step?.wait);
  const change = (next: Partial<CommandChoices>): void => setChoices({ ...choices, ...next });

  const send = async (): Promise<void> => {
    try {
      const { accountId, runId } = run;
      const argument = argumentOf(needs, choices);
      const id = await writeCommand({
        accountId,
        runId,
        kind,
        by: uid,
        reason: reason.trim(),
        ...(step === undefined ? {} : { stepKey: step.key }),
        ...(argument === undefined ? {} : { argument }),
      });
      toast('good', words.sent(name));
      followCommand(run, id, (status, result) => toast(status === 'done' ? 'good' : 'bad', words.result(name, result)));
      onDone();
    } catch (error) {
      setProblem(error);
    }
  };

  return (
    <form
      className={styles['form']}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <p>{t.engine.say(verdictOn(kind, run, step).reason)}</p>
      <ArgumentFields needs={needs} choices={choices} change={change} />
      <Textarea
        label={words.reason}
        description={words.reasonHelp}
        required
        autosize
        minRows={2}
        maxLength={2_000}
        autoFocus
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
      {problem === undefined ? null : <Problem error={problem} compact />}
      <div className={styles['formActions']}>
        <Button variant="default" onClick={onDone}>
          {t.common.close}
        </Button>
        <Button type="submit" disabled={reason.trim() === ''} color={kind === 'cancel' || kind === 'compensate' ? 'red' : 'kiln'}>
          {words.confirm(name)}
        </Button>
      </div>
    </form>
  );
}

interface FieldsProps {
  readonly needs: readonly Need[];
  readonly choices: CommandChoices;
  readonly change: (next: Partial<CommandChoices>) => void;
}

function ArgumentFields({ needs, choices, change }: FieldsProps): ReactNode {
  const { t } = useText();
  const words = t.commands;
  return (
    <>
      {needs.includes('outcome') ? (
        <NativeSelect
          label={words.outcome}
          value={choices.outcome ?? 'succeeded'}
          onChange={(event) => change({ outcome: event.currentTarget.value === 'failed' ? 'failed' : 'succeeded' })}
          data={[
            { value: 'succeeded', label: words.happened },
            { value: 'failed', label: words.notHappened },
          ]}
        />
      ) : null}
      {needs.includes('compensate') ? (
        <Checkbox label={words.compensate} onChange={(event) => change({ compensate: event.currentTarget.checked })} />
      ) : null}
      {needs.includes('payload') ? <JsonField label={words.payload} onChange={(payload) => change({ payload })} /> : null}
      {needs.includes('output') && choices.outcome !== 'failed' ? (
        <JsonField label={words.output} onChange={(output) => change({ output })} />
      ) : null}
      {needs.includes('input') ? <JsonField label={words.input} onChange={(input) => change({ input })} /> : null}
      {needs.includes('until') ? (
        <TextInput
          type="datetime-local"
          label={words.until}
          required
          onChange={(event) => change({ until: new Date(event.currentTarget.value).getTime() })}
        />
      ) : null}
      {needs.includes('version') ? (
        <TextInput
          type="number"
          min={1}
          label={words.targetVersion}
          placeholder={words.sameVersion}
          onChange={(event) => change({ version: event.currentTarget.value === '' ? undefined : event.currentTarget.valueAsNumber })}
        />
      ) : null}
    </>
  );
}

function JsonField({ label, onChange }: { readonly label: string; readonly onChange: (value: Json | undefined) => void }): ReactNode {
  return <JsonInput label={label} description={undefined} required={false} error={undefined} value={undefined} onChange={onChange} />;
}
