import type { ReactNode } from 'react';
import type { Json } from '@engine/json.ts';
import type { Evidence } from '@model/approval.ts';
import { useText } from '../text/text.tsx';
import { labelOf } from '../forms/fields.ts';
import { diffJson, type Change } from '../ui/json-diff.ts';
import { JsonView } from '../ui/json-view.tsx';
import { Markdown } from '../ui/markdown.tsx';
import { SafeLink } from '../ui/safe-link.tsx';
import { tableOf } from './as-table.ts';
import styles from './evidence.module.css';

export function EvidenceList({ evidence }: { readonly evidence: readonly Evidence[] }): ReactNode {
  return (
    <div className={styles['list']}>
      {evidence.map((item, index) => (
        <figure key={index} className={styles['item']}>
          {item.title === undefined ? null : <figcaption>{item.title}</figcaption>}
          <EvidenceView item={item} />
        </figure>
      ))}
    </div>
  );
}

function EvidenceView({ item }: { readonly item: Evidence }): ReactNode {
  switch (item.kind) {
    case 'text':
      return <p className={styles['text']}>{item.text}</p>;
    case 'markdown':
      return <Markdown text={item.markdown} />;
    case 'table':
      return (
        <dl className={styles['table']}>
          {item.rows.map(([name, value], index) => (
            <div key={index}>
              <dt>{name}</dt>
              <dd>
                <Cell value={value} />
              </dd>
            </div>
          ))}
        </dl>
      );
    case 'links':
      return (
        <ul className={styles['links']}>
          {item.links.map((link, index) => (
            <li key={index}>
              <SafeLink url={link.url}>{link.label}</SafeLink>
            </li>
          ))}
        </ul>
      );
    case 'diff':
      return <Changes changes={diffJson(item.before, item.after)} />;
    case 'json':
      return <Value value={item.value} />;
  }
}

function Value({ value }: { readonly value: Json }): ReactNode {
  const table = tableOf(value);
  if (table === undefined) return <JsonView value={value} />;
  return (
    <div className={styles['scroll']} tabIndex={0}>
      <table className={styles['changes']}>
        <thead>
          <tr>
            {table.columns.map((column) => (
              <th key={column} scope="col">
                {labelOf(column)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={table.columns[column]}>{cell === undefined ? null : <Cell value={cell} />}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A number is written as the reader writes numbers; a text stays as it is. */
function Cell({ value }: { readonly value: Json | undefined }): ReactNode {
  const { t, format } = useText();
  if (value === undefined) return <span className="soft">{t.common.none}</span>;
  if (typeof value === 'number') return <span className="numbers">{format.number(value, 10)}</span>;
  if (typeof value === 'boolean') return value ? t.common.yes : t.common.no;
  if (value === null || value === '') return <span className="soft">{t.common.noValue}</span>;
  return typeof value === 'string' ? <span className={styles['text']}>{value}</span> : <JsonView value={value} />;
}

export function Changes({ changes, title }: { readonly changes: readonly Change[]; readonly title?: string }): ReactNode {
  const { t } = useText();
  if (changes.length === 0) return <p className="soft">{t.approval.noDifference}</p>;
  return (
    <table className={styles['changes']}>
      {title === undefined ? null : <caption>{title}</caption>}
      <thead>
        <tr>
          <th scope="col">{t.approval.field}</th>
          <th scope="col">{t.approval.before}</th>
          <th scope="col">{t.approval.after}</th>
        </tr>
      </thead>
      <tbody>
        {changes.map((change) => (
          <tr key={change.path}>
            <th scope="row">{change.path === '' ? '·' : change.path}</th>
            <td data-label={t.approval.before}>
              <del>
                <Cell value={change.before} />
              </del>
            </td>
            <td data-label={t.approval.after}>
              <ins>
                <Cell value={change.after} />
              </ins>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
