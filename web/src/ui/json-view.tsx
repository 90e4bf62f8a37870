import { useState, type ReactNode } from 'react';
import type { Json } from '@engine/json.ts';
import { useText } from '../text/text.tsx';
import { Icon } from './icons.tsx';
import styles from './json-view.module.css';

const SHOWN_MEMBERS = 50;
const SHOWN_CHARS = 2_000;
const OPEN_DEPTH = 2;

/** A JSON value to look into: text only, whatever it contains; long texts and lists are shown in parts. */
export function JsonView({ value }: { readonly value: Json }): ReactNode {
  return (
    <div className={styles['json']}>
      <Value value={value} depth={0} />
    </div>
  );
}

function Value({ value, depth }: { readonly value: Json; readonly depth: number }): ReactNode {
  if (typeof value === 'string') return <TextValue text={value} />;
  if (value === null || typeof value !== 'object') return <span className={styles['atom']}>{String(value)}</span>;
  const members: (readonly [string, Json])[] = Array.isArray(value)
    ? value.map((each, index) => [String(index), each] as const)
    : Object.entries(value);
  return <Container list={Array.isArray(value)} members={members} depth={depth} />;
}

function TextValue({ text }: { readonly text: string }): ReactNode {
  const { t, format } = useText();
  const [whole, setWhole] = useState(false);
  if (text === '') return <span className={styles['none']}>{t.common.emptyText}</span>;
  const cut = !whole && text.length > SHOWN_CHARS;
  return (
    <span className={styles['text']}>
      {cut ? `${text.slice(0, SHOWN_CHARS)}…` : text}
      {cut ? (
        <button type="button" className={styles['more']} onClick={() => setWhole(true)}>
          {t.common.loadAll(format.bytes(text.length))}
        </button>
      ) : null}
    </span>
  );
}

function Container({
  list,
  members,
  depth,
}: {
  readonly list: boolean;
  readonly members: readonly (readonly [string, Json])[];
  readonly depth: number;
}): ReactNode {
  const { t } = useText();
  const [open, setOpen] = useState(depth < OPEN_DEPTH);
  const [shown, setShown] = useState(SHOWN_MEMBERS);
  const size = list ? t.common.items(members.length) : t.common.fields(members.length);
  if (members.length === 0) return <span className={styles['none']}>{list ? '[ ]' : '{ }'}</span>;
  return (
    <>
      {depth === 0 ? null : (
        <button type="button" className={styles['toggle']} aria-expanded={open} onClick={() => setOpen(!open)}>
          <Icon name={open ? 'down' : 'right'} size={14} />
          {size}
        </button>
      )}
      {open ? (
        <ul className={styles['members']}>
          {members.slice(0, shown).map(([name, member]) => (
            <li key={name}>
              <span className={styles['name']}>{name === '' ? '""' : name}</span>
              <Value value={member} depth={depth + 1} />
            </li>
          ))}
          {members.length > shown ? (
            <li>
              <button type="button" className={styles['more']} onClick={() => setShown(shown * 4)}>
                {t.common.showMore(members.length - shown)}
              </button>
            </li>
          ) : null}
        </ul>
      ) : null}
    </>
  );
}
