import { Button, Textarea, TextInput } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import { useFocusOnArrival } from '../app/focus.ts';
import { usePageTitle } from '../app/page-title.tsx';
import { useAccount } from '../data/account.tsx';
import { call, type KbHit } from '../data/api.ts';
import { useLiveList, type Item } from '../data/live.ts';
import { knowledgeShape, type KnowledgeRecord } from '../data/knowledge-shape.ts';
import { queries } from '../data/queries.ts';
import { useCall } from '../operations/use-call.ts';
import { useText } from '../text/text.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Markdown } from '../ui/markdown.tsx';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { Ago } from '../ui/time.tsx';
import { toast } from '../ui/toast.tsx';
import styles from './workflows.module.css';

type Panel = { readonly kind: 'show' | 'edit'; readonly item: Item<KnowledgeRecord> } | { readonly kind: 'add' };

export function KnowledgePage(): ReactNode {
  const { t } = useText();
  const { accountId, can } = useAccount();
  const live = useLiveList(queries.knowledge(accountId), knowledgeShape);
  const [panel, setPanel] = useState<Panel>();
  const close = (): void => setPanel(undefined);
  usePageTitle(t.knowledge.title);
  useFocusOnArrival('knowledge');
  return (
    <div className={styles['page']}>
      <header className={styles['head']}>
        <div>
          <h1>{t.knowledge.title}</h1>
          <p className="soft">{t.knowledge.text}</p>
        </div>
        {can('author') ? <Button onClick={() => setPanel({ kind: 'add' })}>{t.knowledge.add}</Button> : null}
      </header>
      <Search />
      {live.state === 'loading' ? <Loading /> : null}
      {live.state === 'failed' ? <Problem error={live.error} /> : null}
      {live.state === 'ready' && live.value.length === 0 ? (
        <Empty icon="book" title={t.knowledge.empty.title} text={t.knowledge.empty.text} />
      ) : null}
      <ul className={styles['list']}>
        {(live.state === 'ready' ? live.value : []).map((item) => (
          <li key={item.id} className={styles['row']}>
            <span>
              <strong>{item.value.title}</strong>
              <span className="small soft">
                {item.value.collection} · {t.knowledge.version(item.value.version)} · <Ago at={item.value.updatedAt} />
              </span>
            </span>
            <Button variant="default" size="compact-sm" onClick={() => setPanel({ kind: 'show', item })}>
              {t.common.open}
            </Button>
          </li>
        ))}
      </ul>
      <Dialog
        open={panel !== undefined}
        onClose={close}
        title={panel === undefined || panel.kind === 'add' ? t.knowledge.add : panel.item.value.title}
        wide
      >
        {panel?.kind === 'show' ? (
          <Document item={panel.item} onEdit={() => setPanel({ kind: 'edit', item: panel.item })} onDone={close} />
        ) : null}
        {panel?.kind === 'edit' ? <DocumentForm item={panel.item} onDone={close} /> : null}
        {panel?.kind === 'add' ? <DocumentForm onDone={close} /> : null}
      </Dialog>
    </div>
  );
}

function Search(): ReactNode {
  const { t, format } = useText();
  const { accountId } = useAccount();
  const [text, setText] = useState('');
  const [hits, setHits] = useState<readonly KbHit[]>();
  const [error, setError] = useState<unknown>();
  const search = (): void => {
    setError(undefined);
    call('kb.search', accountId, { text: text.trim(), topK: 10 }).then(setHits, setError);
  };
  return (
    <search className={styles['stack']}>
      <form
        className={styles['search']}
        onSubmit={(event) => {
          event.preventDefault();
          search();
        }}
      >
        <TextInput
          type="search"
          label={t.knowledge.search}
          required
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Button type="submit" variant="default">
          {t.knowledge.searchNow}
        </Button>
      </form>
      {error === undefined ? null : <Problem error={error} compact />}
      {hits === undefined ? null : <p role="status">{hits.length === 0 ? t.knowledge.noHits : t.knowledge.hits(hits.length)}</p>}
      {(hits ?? []).map((hit) => (
        <article key={`${hit.documentId}-${hit.n}`} className={styles['panel']}>
          <h3>
            {hit.title}
            {hit.heading === '' ? '' : ` › ${hit.heading}`} · {t.knowledge.score(format.percent(hit.score))}
          </h3>
          <Markdown text={hit.text} />
        </article>
      ))}
    </search>
  );
}

function Document({
  item,
  onEdit,
  onDone,
}: {
  readonly item: Item<KnowledgeRecord>;
  readonly onEdit: () => void;
  readonly onDone: () => void;
}): ReactNode {
  const { t } = useText();
  const { can } = useAccount();
  const { busy, problem, run } = useCall();
  const remove = async (): Promise<void> => {
    if (confirm(t.knowledge.removeSure) && (await run('kb.delete', { id: item.id }))) onDone();
  };
  return (
    <div className={styles['stack']}>
      <Markdown text={item.value.markdown} />
      {problem === undefined ? null : <Problem error={problem} compact />}
      {can('author') ? (
        <div className={styles['actions']}>
          <Button variant="default" onClick={onEdit}>
            {t.knowledge.edit}
          </Button>
          <Button variant="default" color="red" loading={busy} onClick={() => void remove()}>
            {t.knowledge.remove}
          </Button>
        </div>
      ) : null}
    </div>
  );
}

function DocumentForm({ item, onDone }: { readonly item?: Item<KnowledgeRecord>; readonly onDone: () => void }): ReactNode {
  const { t } = useText();
  const [title, setTitle] = useState(item?.value.title ?? '');
  const [collection, setCollection] = useState(item?.value.collection ?? 'general');
  const [markdown, setMarkdown] = useState(item?.value.markdown ?? '');
  const { busy, problem, run } = useCall();
  const save = async (): Promise<void> => {
    if (!(await run('kb.add', { title, collection, markdown, ...(item === undefined ? {} : { id: item.id }) }))) return;
    toast('good', t.knowledge.saved);
    onDone();
  };
  return (
    <form
      className={styles['stack']}
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <TextInput label={t.knowledge.documentTitle} required value={title} onChange={(event) => setTitle(event.currentTarget.value)} />
      <TextInput
        label={t.knowledge.collection}
        required
        value={collection}
        onChange={(event) => setCollection(event.currentTarget.value)}
      />
      <Textarea
        label={t.knowledge.markdown}
        required
        autosize
        minRows={10}
        maxRows={24}
        value={markdown}
        onChange={(event) => setMarkdown(event.currentTarget.value)}
      />
      {problem === undefined ? null : <Problem error={problem} compact />}
      <Button type="submit" loading={busy}>
        {t.knowledge.save}
      </Button>
    </form>
  );
}
