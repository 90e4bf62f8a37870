import { autocompletion, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete';
import { json } from '@codemirror/lang-json';
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { linter, setDiagnostics, type Diagnostic } from '@codemirror/lint';
import { EditorState, type Extension } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { basicSetup } from 'codemirror';
import { useEffect, useRef, type ReactNode } from 'react';
import type { DefinitionProblem } from '../data/api.ts';
import { proposalsAt, type Schemas } from './completions.ts';
import { placeOfProblem, placesOf } from './json-places.ts';

export interface EditorHandle {
  /** Shows and selects a part of the text. */
  select(from: number, to: number): void;
  /** Replaces a part of the text, which can be undone. */
  replace(from: number, to: number, insert: string): void;
}

interface EditorProps {
  readonly label: string;
  readonly initial: string;
  readonly problems: readonly DefinitionProblem[];
  readonly schemas?: Schemas;
  readonly readOnly?: boolean;
  readonly onChange: (text: string) => void;
  readonly onCursor?: (position: number) => void;
  readonly handle?: { current: EditorHandle | undefined };
}

/**
 * CodeMirror in a shadow root: there it uses constructed style sheets, where in the page it would write a style tag, which the content
 * security policy forbids.
 */
export function CodeEditor(props: EditorProps): ReactNode {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const { problems, handle } = props;

  useEffect(() => {
    const mount = document.createElement('div');
    host.current?.append(mount);
    const root = mount.attachShadow({ mode: 'open' });
    const editor = new EditorView({
      parent: root,
      root,
      state: EditorState.create({ doc: latest.current.initial, extensions: extensions(latest) }),
    });
    view.current = editor;
    return () => {
      editor.destroy();
      mount.remove();
    };
  }, []);

  useEffect(() => {
    if (handle === undefined) return;
    handle.current = {
      select: (from, to) => {
        view.current?.dispatch({ selection: { anchor: from, head: to }, scrollIntoView: true });
        view.current?.focus();
      },
      replace: (from, to, insert) => view.current?.dispatch({ changes: { from, to, insert } }),
    };
  }, [handle]);

  useEffect(() => {
    const editor = view.current;
    if (editor !== undefined) editor.dispatch(setDiagnostics(editor.state, diagnosticsOf(editor.state.doc.toString(), problems)));
  }, [problems]);

  return <div ref={host} />;
}

function extensions(latest: { current: EditorProps }): Extension[] {
  return [
    basicSetup,
    json(),
    linter(null, { autoPanel: false }),
    syntaxHighlighting(colours),
    look,
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ 'aria-label': latest.current.label, tabindex: '0' }),
    EditorState.readOnly.of(latest.current.readOnly === true),
    autocompletion({ override: [(context) => complete(context, latest.current.schemas)] }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) latest.current.onChange(update.state.doc.toString());
      if (update.selectionSet || update.docChanged) latest.current.onCursor?.(update.state.selection.main.head);
    }),
  ];
}

function complete(context: CompletionContext, schemas: Schemas | undefined): CompletionResult | null {
  if (schemas === undefined) return null;
  const text = context.state.doc.toString();
  const proposals = proposalsAt(text, context.pos, placesOf(text), schemas);
  if (proposals === undefined) return null;
  const typed = text.slice(proposals.from, context.pos).replaceAll('"', '').toLowerCase();
  if (typed === '' && !context.explicit && !/["{,\s]$/.test(text.slice(0, context.pos))) return null;
  const options = proposals.options
    .filter((option) => option.label.toLowerCase().includes(typed))
    .map((option) => ({
      label: option.label,
      apply: option.insert,
      detail: option.detail,
      ...(option.info === '' ? {} : { info: option.info }),
    }));
  return options.length === 0 ? null : { from: proposals.from, to: proposals.to, options, filter: false };
}

function diagnosticsOf(text: string, problems: readonly DefinitionProblem[]): Diagnostic[] {
  if (problems.length === 0) return [];
  const places = placesOf(text);
  return problems.map(({ path, message, code }) => {
    const place = placeOfProblem(places, path);
    // The whole text or a whole object would be underlined from end to end: its beginning is enough.
    const from = place?.kind === 'object' || place?.kind === 'array' ? (place.key?.from ?? place.from) : (place?.from ?? 0);
    const to = place?.kind === 'object' || place?.kind === 'array' ? (place.key?.to ?? place.from + 1) : (place?.to ?? 1);
    return { from: Math.min(from, text.length), to: Math.min(to, text.length), severity: 'error', message, source: code };
  });
}

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--accent)' },
  { tag: tags.string, color: 'var(--ink)' },
  { tag: tags.number, color: 'var(--good)' },
  { tag: [tags.bool, tags.null], color: 'var(--wait)' },
]);

const look = EditorView.theme({
  '&': {
    color: 'var(--ink)',
    backgroundColor: 'var(--ground)',
    fontSize: '13px',
    height: '100%',
    border: '1px solid var(--line)',
    borderRadius: '12px',
    overflow: 'hidden',
  },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-1px' },
  '.cm-scroller': {
    fontFamily: 'var(--mantine-font-family-monospace)',
    lineHeight: '1.6',
    maxHeight: 'calc(100dvh - 14rem)',
    minHeight: '16rem',
    overflow: 'auto',
  },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--ground-soft)', color: 'var(--ink-soft)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--ground-hover)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--accent-soft) !important' },
  '.cm-tooltip': {
    backgroundColor: 'var(--ground)',
    color: 'var(--ink)',
    border: '1px solid var(--line)',
    borderRadius: '8px',
    overflow: 'hidden',
  },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--ground)' },
  '.cm-completionDetail': { color: 'inherit', opacity: '0.75', fontStyle: 'normal', marginLeft: '1em' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--bad)' },
  '.cm-panels': { backgroundColor: 'var(--ground-soft)', color: 'var(--ink)' },
});
