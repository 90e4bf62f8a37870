import { useMemo, type ReactNode } from 'react';
import { useText } from '../text/text.tsx';
import { parseMarkdown, type Block, type Inline } from './markdown-parse.ts';
import { SafeLink } from './safe-link.tsx';
import styles from './markdown.module.css';

/** Markdown as React elements: no HTML passes through, nothing is loaded, and links lead only to web and mail addresses. */
export function Markdown({ text }: { readonly text: string }): ReactNode {
  const blocks = useMemo(() => parseMarkdown(text), [text]);
  return (
    <div className={styles['markdown']}>
      <Blocks blocks={blocks} />
    </div>
  );
}

function Blocks({ blocks }: { readonly blocks: readonly Block[] }): ReactNode {
  return blocks.map((block, index) => <BlockView key={index} block={block} />);
}

function BlockView({ block }: { readonly block: Block }): ReactNode {
  switch (block.kind) {
    case 'heading':
      // The page has its own outline: a document inside it starts two levels down.
      return (
        <p className={styles['heading']} role="heading" aria-level={Math.min(6, block.level + 2)}>
          <Inlines inlines={block.children} />
        </p>
      );
    case 'paragraph':
      return (
        <p>
          <Inlines inlines={block.children} />
        </p>
      );
    case 'code':
      return (
        <pre tabIndex={0}>
          <code>{block.text}</code>
        </pre>
      );
    case 'quote':
      return (
        <blockquote>
          <Blocks blocks={block.children} />
        </blockquote>
      );
    case 'list':
      return <ListView list={block} />;
    case 'table':
      return <TableView table={block} />;
    case 'rule':
      return <hr />;
  }
}

function ListView({ list }: { readonly list: Extract<Block, { kind: 'list' }> }): ReactNode {
  const items = list.items.map((item, index) => (
    <li key={index}>
      <Blocks blocks={item} />
    </li>
  ));
  return list.ordered ? <ol start={list.start}>{items}</ol> : <ul>{items}</ul>;
}

function TableView({ table }: { readonly table: Extract<Block, { kind: 'table' }> }): ReactNode {
  return (
    <div className={styles['scroll']} tabIndex={0} role="group">
      <table>
        <thead>
          <tr>
            {table.head.map((cell, index) => (
              <th key={index} scope="col">
                <Inlines inlines={cell} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column}>
                  <Inlines inlines={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Inlines({ inlines }: { readonly inlines: readonly Inline[] }): ReactNode {
  return inlines.map((inline, index) => <InlineView key={index} inline={inline} />);
}

function InlineView({ inline }: { readonly inline: Inline }): ReactNode {
  const { t } = useText();
  switch (inline.kind) {
    case 'text':
      return inline.text;
    case 'code':
      return <code>{inline.text}</code>;
    case 'strong':
      return (
        <strong>
          <Inlines inlines={inline.children} />
        </strong>
      );
    case 'emphasis':
      return (
        <em>
          <Inlines inlines={inline.children} />
        </em>
      );
    case 'link':
      return (
        <SafeLink url={inline.url}>
          <Inlines inlines={inline.children} />
        </SafeLink>
      );
    case 'image':
      return <span className="soft">{t.common.imageNotShown(inline.alt)}</span>;
    case 'break':
      return <br />;
  }
}
