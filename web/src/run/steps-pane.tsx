import { Checkbox, TextInput } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo, useRef, useState, type ReactNode } from 'react';
import { paths } from '@model/paths.ts';
import type { RunRecord } from '@model/run.ts';
import type { StepRecord } from '@model/step.ts';
import { useLiveDoc } from '../data/live.ts';
import { stepShape } from '../data/shapes.ts';
import { useText } from '../text/text.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icons.tsx';
import { useShortcuts } from '../ui/keys.tsx';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { toast } from '../ui/toast.tsx';
import { StepDetails } from './step-details.tsx';
import { StepTree } from './step-tree.tsx';
import { ancestorsOf, buildTree, rowsOf } from './tree.ts';
import { useRunKeys } from './use-run-keys.ts';
import type { Steps } from './use-steps.ts';
import styles from './run-page.module.css';
import treeStyles from './step-tree.module.css';

interface PaneProps {
  readonly run: RunRecord;
  readonly steps: Steps;
}

export function StepsPane({ run, steps }: PaneProps): ReactNode {
  const { t } = useText();
  const search = useSearch({ from: '/a/$accountId/runs/$runId' });
  const select = useSelect();
  const [chosen, setChosen] = useState<ReadonlyMap<string, boolean>>(new Map());
  const narrow = useMediaQuery('(max-width: 60em)');
  const linked = useLiveDoc(search.step === undefined ? undefined : paths.step(run.accountId, run.runId, search.step), stepShape);
  const selected = linked.state === 'ready' ? linked.value?.value : undefined;
  const failedOnly = search.failed === true;
  useRunKeys(run);

  const all = useMemo(() => withLinked(steps.steps, selected), [steps.steps, selected]);
  const tree = useMemo(() => buildTree(all), [all]);
  const opened = useMemo(
    () => (search.step === undefined ? chosen : withAncestors(chosen, search.step, run.kind)),
    [chosen, search.step, run.kind],
  );
  const rows = useMemo(() => rowsOf(tree, { chosen: opened, failedOnly }), [tree, opened, failedOnly]);

  if (steps.error !== undefined) return <Problem error={steps.error} />;
  if (steps.state === 'loading') return <Loading lines={8} />;
  return (
    <div className={styles['panes']}>
      <div className={treeStyles['pane']}>
        <Tools failedOnly={failedOnly} steps={all} />
        {rows.length === 0 ? (
          <Empty icon="list" {...(failedOnly ? t.run.noFailed : t.run.noSteps)} />
        ) : (
          <StepTree
            rows={rows}
            steps={all}
            run={run}
            selected={search.step}
            onSelect={select}
            onToggle={(key, open) => setChosen(new Map([...chosen, [key, open]]))}
            more={steps.more && !failedOnly}
            onMore={steps.loadMore}
          />
        )}
      </div>
      {narrow ? (
        <Dialog open={search.step !== undefined} onClose={() => select(undefined)} title={search.step ?? ''} wide>
          <Details run={run} state={linked.state} step={selected} titled={false} />
        </Dialog>
      ) : (
        <aside className={styles['details']} aria-label={t.run.step}>
          {search.step === undefined ? <p className="soft">{t.run.choose}</p> : <Details run={run} state={linked.state} step={selected} />}
        </aside>
      )}
    </div>
  );
}

interface DetailsProps {
  readonly run: RunRecord;
  readonly state: 'loading' | 'failed' | 'ready';
  readonly step: StepRecord | undefined;
  readonly titled?: boolean;
}

function Details({ run, state, step, titled = true }: DetailsProps): ReactNode {
  const { t } = useText();
  if (state === 'loading') return <Loading lines={4} />;
  if (step === undefined) return <p className="soft">{t.run.stepMissing}</p>;
  return <StepDetails key={step.key} run={run} step={step} titled={titled} />;
}

function useSelect(): (key: string | undefined) => void {
  const navigate = useNavigate();
  return (key) => {
    void navigate({
      from: '/a/$accountId/runs/$runId',
      to: '.',
      search: ({ step: _step, ...rest }) => (key === undefined ? rest : { ...rest, step: key }),
      replace: true,
      resetScroll: false,
    });
  };
}

/** The step of a link may stand on a page that is not loaded. */
function withLinked(steps: readonly StepRecord[], linked: StepRecord | undefined): readonly StepRecord[] {
  if (linked === undefined) return steps;
  const at = steps.findIndex((step) => step.key === linked.key);
  return at === -1 ? [...steps, linked] : steps.with(at, linked);
}

function withAncestors(chosen: ReadonlyMap<string, boolean>, key: string, kind: 'graph' | 'code'): ReadonlyMap<string, boolean> {
  const missing = ancestorsOf(key, kind).filter((ancestor) => !chosen.has(ancestor));
  return missing.length === 0 ? chosen : new Map([...chosen, ...missing.map((ancestor) => [ancestor, true] as const)]);
}

function Tools({ failedOnly, steps }: { readonly failedOnly: boolean; readonly steps: readonly StepRecord[] }): ReactNode {
  const { t } = useText();
  const navigate = useNavigate();
  const select = useSelect();
  const input = useRef<HTMLInputElement>(null);
  const [wanted, setWanted] = useState('');
  const { step: current } = useSearch({ from: '/a/$accountId/runs/$runId' });
  useShortcuts([{ key: '/', does: t.run.find, run: () => input.current?.focus() }]);

  /** The next step whose key has the text in it, from the selected one on and around. */
  const find = (): void => {
    const text = wanted.trim().toLowerCase();
    if (text === '') return;
    const from = steps.findIndex((step) => step.key === current) + 1;
    const found = [...steps.slice(from), ...steps.slice(0, from)].find((step) => step.key.toLowerCase().includes(text));
    if (found === undefined) toast('bad', t.run.notFound);
    else select(found.key);
  };

  return (
    <div className={treeStyles['tools']}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          find();
        }}
      >
        <TextInput
          ref={input}
          type="search"
          size="xs"
          aria-label={t.run.find}
          placeholder={`${t.run.find} (/)`}
          leftSection={<Icon name="search" size={16} />}
          value={wanted}
          onChange={(event) => setWanted(event.currentTarget.value)}
        />
      </form>
      <Checkbox
        size="xs"
        label={t.run.failedOnly}
        checked={failedOnly}
        onChange={(event) => {
          const failed = event.currentTarget.checked;
          void navigate({
            from: '/a/$accountId/runs/$runId',
            to: '.',
            search: ({ failed: _failed, ...rest }) => (failed ? { ...rest, failed } : rest),
            replace: true,
            resetScroll: false,
          });
        }}
      />
    </div>
  );
}
