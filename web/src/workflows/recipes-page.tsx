import { Button, NativeSelect, Textarea } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import { paths } from '@model/paths.ts';
import { useFocusOnArrival } from '../app/focus.ts';
import { usePageTitle } from '../app/page-title.tsx';
import { useAccount } from '../data/account.tsx';
import { readDoc, useLiveList } from '../data/live.ts';
import { fromText } from '../data/knowledge-shape.ts';
import { queries } from '../data/queries.ts';
import { recipeShape, recipeVersionShape } from '../data/shapes.ts';
import { useCall } from '../operations/use-call.ts';
import { useText } from '../text/text.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { toast } from '../ui/toast.tsx';
import { Corrections } from './corrections.tsx';
import styles from './workflows.module.css';

const fresh = JSON.stringify(
  {
    id: 'summary',
    name: 'Summary',
    prompt: 'Summarise: {{workflow_input.text}}',
    schema: { type: 'object', required: ['summary'], properties: { summary: { type: 'string' } } },
  },
  null,
  2,
);

/** What is being looked at: a version of a recipe, or a new one. */
type Edited =
  | { readonly text: string; readonly id?: never }
  | { readonly text: string; readonly id: string; readonly version: number; readonly latest: number };

export function RecipesPage(): ReactNode {
  const { t } = useText();
  const { accountId, can } = useAccount();
  const live = useLiveList(queries.recipes(accountId), recipeShape);
  const [editing, setEditing] = useState<Edited>();
  const open = async (id: string, version: number, latest: number): Promise<void> => {
    const found = await readDoc(paths.recipeVersion(accountId, id, version), recipeVersionShape);
    if (found !== undefined) setEditing({ text: JSON.stringify(JSON.parse(found.value.json), null, 2), id, version, latest });
  };
  usePageTitle(t.recipes.title);
  useFocusOnArrival('recipes');
  return (
    <div className={styles['page']}>
      <header className={styles['head']}>
        <div>
          <h1>{t.recipes.title}</h1>
          <p className="soft">{t.recipes.text}</p>
        </div>
        {can('author') ? <Button onClick={() => setEditing({ text: fresh })}>{t.recipes.create}</Button> : null}
      </header>
      {live.state === 'loading' ? <Loading /> : null}
      {live.state === 'failed' ? <Problem error={live.error} /> : null}
      {live.state === 'ready' && live.value.length === 0 ? (
        <Empty icon="recipe" title={t.recipes.empty.title} text={t.recipes.empty.text} />
      ) : null}
      <ul className={styles['list']}>
        {(live.state === 'ready' ? live.value : []).map(({ id, value }) => (
          <li key={id} className={styles['row']}>
            <span>
              <strong>{value.name === '' ? id : value.name}</strong>
              <span className="soft">{value.description}</span>
            </span>
            <span className="small soft">{t.workflows.version(value.latest)}</span>
            <Button variant="default" size="compact-sm" onClick={() => void open(id, value.latest, value.latest)}>
              {can('author') ? t.recipes.edit : t.common.open}
            </Button>
          </li>
        ))}
      </ul>
      <Dialog open={editing !== undefined} onClose={() => setEditing(undefined)} title={t.recipes.title} wide>
        {editing?.id === undefined ? null : (
          <NativeSelect
            label={t.recipes.version}
            value={String(editing.version)}
            onChange={(event) => void open(editing.id, Number(event.currentTarget.value), editing.latest)}
            data={Array.from({ length: editing.latest }, (_, n) => ({
              value: String(editing.latest - n),
              label: t.workflows.version(editing.latest - n),
            }))}
          />
        )}
        {editing === undefined ? null : <RecipeForm key={editing.text} initial={editing.text} onDone={() => setEditing(undefined)} />}
      </Dialog>
      {can('operate') ? <Corrections /> : null}
    </div>
  );
}

function RecipeForm({ initial, onDone }: { readonly initial: string; readonly onDone: () => void }): ReactNode {
  const { t } = useText();
  const { can } = useAccount();
  const [text, setText] = useState(initial);
  const { busy, problem, run } = useCall();
  const recipe = fromText(text);
  const publish = async (): Promise<void> => {
    if (recipe === undefined || !(await run('recipes.publish', { recipe }))) return;
    toast('good', t.recipes.saved);
    onDone();
  };
  return (
    <div className={styles['stack']}>
      <Textarea
        label={t.recipes.label}
        autosize
        minRows={12}
        maxRows={24}
        spellCheck={false}
        readOnly={!can('author')}
        value={text}
        error={recipe === undefined ? t.workflows.editor.notJson : undefined}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      {problem === undefined ? null : <Problem error={problem} compact />}
      {can('author') ? (
        <Button loading={busy} disabled={recipe === undefined} onClick={() => void publish()}>
          {t.recipes.publish}
        </Button>
      ) : null}
    </div>
  );
}
