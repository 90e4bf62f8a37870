import { Button, Textarea } from '@mantine/core';
import { Link, useBlocker, useNavigate, useParams } from '@tanstack/react-router';
import { lazy, Suspense, useRef, useState, type ReactNode } from 'react';
import schemas from 'virtual:step-schemas';
import type { Json } from '@engine/json.ts';
import { paths } from '@model/paths.ts';
import { usePageTitle } from '../app/page-title.tsx';
import { useAccount } from '../data/account.tsx';
import { call, problemsOf, type DefinitionProblem } from '../data/api.ts';
import { useLiveDoc } from '../data/live.ts';
import { versionShape, workflowShape } from '../data/shapes.ts';
import { CodeEditor, type EditorHandle } from '../editor/code-editor.tsx';
import { placeOfProblem, placesOf } from '../editor/json-places.ts';
import { useText } from '../text/text.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { toast } from '../ui/toast.tsx';
import { starter } from './starter.ts';
import { StepForm } from './step-form.tsx';
import { TryDialog } from './try-dialog.tsx';
import { useCheck, type Check } from './use-check.ts';
import styles from './workflows.module.css';

const GraphView = lazy(() => import('../graph/graph-view.tsx').then((module) => ({ default: module.GraphView })));

/** A new workflow begins as a small one that works. */
export function NewWorkflowPage(): ReactNode {
  return <Editor initial={starter} id={undefined} />;
}

export function EditorPage(): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const { workflowId } = useParams({ from: '/a/$accountId/workflows/$workflowId/edit' });
  const workflow = useLiveDoc(paths.workflow(accountId, workflowId), workflowShape);
  const latest = workflow.state === 'ready' ? workflow.value?.value.latest : undefined;
  const version = useLiveDoc(latest === undefined ? undefined : paths.version(accountId, workflowId, latest), versionShape);
  if (workflow.state === 'failed') return <Problem error={workflow.error} />;
  if (workflow.state === 'ready' && workflow.value === undefined)
    return <Empty icon="flow" title={t.workflows.missing.title} text={t.workflows.missing.text} />;
  if (version.state === 'failed') return <Problem error={version.error} />;
  if (version.state === 'loading' || version.value === undefined) return <Loading />;
  // A version that somebody else publishes meanwhile must not replace what is being written.
  return <Editor key={workflowId} initial={JSON.stringify(JSON.parse(version.value.value.json), null, 2)} id={workflowId} />;
}

function Editor({ initial, id }: { readonly initial: string; readonly id: string | undefined }): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const words = t.workflows.editor;
  const [begun] = useState(initial);
  const [text, setText] = useState(begun);
  const [cursor, setCursor] = useState(0);
  const [published, setPublished] = useState(begun);
  const [dialog, setDialog] = useState<'publish' | 'try'>();
  const handle = useRef<EditorHandle>(undefined);
  const check = useCheck(accountId, text);
  const ready = check.state === 'checked' && check.problems.length === 0;
  usePageTitle(id === undefined ? words.newTitle : words.title(id));
  useBlocker({ shouldBlockFn: () => text !== published && !confirm(words.leave), enableBeforeUnload: () => text !== published });

  return (
    <div className={styles['page']}>
      <p className="small soft">
        <Link to="/a/$accountId/workflows" params={{ accountId }}>
          {t.workflows.title}
        </Link>
      </p>
      <header className={styles['head']}>
        <h1>{id === undefined ? words.newTitle : words.title(id)}</h1>
        <div className={styles['actions']}>
          <Button variant="default" disabled={!ready} onClick={() => setDialog('try')}>
            {words.try}
          </Button>
          <Button disabled={!ready || text === published} onClick={() => setDialog('publish')}>
            {words.publish}
          </Button>
        </div>
      </header>
      <div className={styles['halves']}>
        <CodeEditor
          label={words.label}
          initial={begun}
          problems={check.problems}
          schemas={schemas}
          onChange={setText}
          onCursor={setCursor}
          handle={handle}
        />
        <div className={styles['side']}>
          <Problems check={check} onShow={(path) => showPlace(text, path, handle.current)} />
          {check.definition === undefined ? (
            <p className="soft">{words.graphWaits}</p>
          ) : (
            <Suspense fallback={<Loading lines={3} />}>
              <GraphView definition={check.definition} onPick={(stepId) => showStep(text, stepId, handle.current)} />
            </Suspense>
          )}
          <StepForm text={text} cursor={cursor} handle={handle} />
        </div>
      </div>
      <Dialog open={dialog === 'publish'} onClose={() => setDialog(undefined)} title={words.publish}>
        <PublishForm text={text} onDone={() => setDialog(undefined)} onPublished={() => setPublished(text)} />
      </Dialog>
      <TryDialog open={dialog === 'try'} text={text} onClose={() => setDialog(undefined)} />
    </div>
  );
}

function showPlace(text: string, path: string, editor: EditorHandle | undefined): void {
  const place = placeOfProblem(placesOf(text), path);
  if (place === undefined) return;
  // A value is ready to be written anew; of an object or list only the name is marked.
  const container = place.kind === 'object' || place.kind === 'array';
  const shown = container ? (place.key ?? { from: place.from, to: place.from + 1 }) : place;
  editor?.select(shown.from, shown.to);
}

function showStep(text: string, stepId: string, editor: EditorHandle | undefined): void {
  const quoted = JSON.stringify(stepId);
  const place = placesOf(text).all.find((each) => each.parts.at(-1) === 'id' && text.slice(each.from, each.to) === quoted);
  if (place !== undefined) editor?.select(place.from, place.to);
}

function Problems({ check, onShow }: { readonly check: Check; readonly onShow: (path: string) => void }): ReactNode {
  const { t } = useText();
  const words = t.workflows.editor;
  const { state, problems } = check;
  const summary =
    state === 'not_json'
      ? words.notJson
      : state === 'checking'
        ? words.checking
        : state === 'failed'
          ? words.notChecked
          : problems.length === 0
            ? words.fine
            : words.problems(problems.length);
  return (
    <section className={styles['stack']}>
      <p role="status" className={problems.length === 0 ? 'soft' : ''}>
        {summary}
      </p>
      {check.state === 'failed' ? <Problem error={check.error} compact /> : null}
      <ul className={styles['problems']}>
        {problems.map((problem, index) => (
          <li key={index}>
            <ProblemButton problem={problem} onShow={onShow} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function ProblemButton({ problem, onShow }: { readonly problem: DefinitionProblem; readonly onShow: (path: string) => void }): ReactNode {
  const { t } = useText();
  return (
    <button type="button" onClick={() => onShow(problem.path)} title={t.workflows.editor.goTo}>
      <span>{problem.message}</span>
      <code className="small soft">{problem.path}</code>
    </button>
  );
}

interface PublishProps {
  readonly text: string;
  readonly onDone: () => void;
  readonly onPublished: () => void;
}

function PublishForm({ text, onDone, onPublished }: PublishProps): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const navigate = useNavigate();
  const [note, setNote] = useState('');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>();
  const words = t.workflows.editor;
  const publish = async (): Promise<void> => {
    setBusy(true);
    try {
      const definition = JSON.parse(text) as { id: string } & Json;
      const { version } = await call('publish', accountId, { definition, ...(note.trim() === '' ? {} : { note: note.trim() }) });
      toast('good', words.publishedAs(version));
      onPublished();
      onDone();
      await navigate({ to: '/a/$accountId/workflows/$workflowId', params: { accountId, workflowId: definition.id }, ignoreBlocker: true });
    } catch (error) {
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      className={styles['stack']}
      onSubmit={(event) => {
        event.preventDefault();
        void publish();
      }}
    >
      <Textarea
        label={words.note}
        description={words.noteHelp}
        autosize
        minRows={2}
        maxLength={500}
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
      />
      {problem === undefined ? null : <Problem error={problem} compact />}
      <ul>
        {problemsOf(problem).map((each, index) => (
          <li key={index}>{each.message}</li>
        ))}
      </ul>
      <Button type="submit" loading={busy}>
        {words.publishNow}
      </Button>
    </form>
  );
}
