import { Checkbox, TextInput } from '@mantine/core';
import { useMemo, type ReactNode, type RefObject } from 'react';
import type { Json } from '@engine/json.ts';
import type { PathPart } from '@engine/json-path.ts';
import type { EditorHandle } from '../editor/code-editor.tsx';
import { isStepPath, memberText } from '../editor/completions.ts';
import { setMember } from '../editor/edit-text.ts';
import { placesOf, type Places } from '../editor/json-places.ts';
import { useText } from '../text/text.tsx';
import styles from './workflows.module.css';

interface StepFormProps {
  readonly text: string;
  readonly cursor: number;
  readonly handle: RefObject<EditorHandle | undefined>;
}

/** The settings that every step has, for the step that the cursor is in. The form changes the text; the text is what counts. */
export function StepForm({ text, cursor, handle }: StepFormProps): ReactNode {
  const { t } = useText();
  const places = useMemo(() => placesOf(text), [text]);
  const step = stepAround(places, cursor);
  const words = t.workflows.editor;
  if (step === undefined) {
    return (
      <section className={styles['panel']}>
        <h3>{words.step}</h3>
        <p className="small soft">{words.noStep}</p>
      </section>
    );
  }
  const value = (object: readonly PathPart[], name: string): Json | undefined => memberValue(text, places, [...object, name]);
  const set = (object: readonly PathPart[], name: string, next: Json | undefined): void => {
    const edit = setMember(text, places, object, name, next);
    if (edit !== undefined) handle.current?.replace(edit.from, edit.to, edit.insert);
  };
  const key = step.join('.');
  return (
    <section className={styles['panel']}>
      <h3>
        {words.step}: {memberText(step, 'id', places, text) ?? ''}
      </h3>
      <div className={styles['form']}>
        {(['name', 'description', 'owner', 'timeout', 'setsState'] as const).map((name) => (
          <Setting
            key={`${key}.${name}`}
            label={words.fields[name]}
            value={value(step, name)}
            onChange={(next) => set(step, name, next === '' ? undefined : next)}
          />
        ))}
        <Setting
          key={`${key}.attempts`}
          label={words.fields.attempts}
          type="number"
          value={value([...step, 'retry'], 'maxAttempts')}
          onChange={(next) => {
            const retry = value(step, 'retry');
            const attempts = next === '' ? undefined : Number(next);
            if (retry === undefined) set(step, 'retry', attempts === undefined ? undefined : { maxAttempts: attempts });
            else set([...step, 'retry'], 'maxAttempts', attempts);
          }}
        />
        {(['continueOnError', 'sensitive'] as const).map((name) => (
          <Checkbox
            key={name}
            label={words.fields[name]}
            checked={value(step, name) === true}
            onChange={(event) => set(step, name, event.currentTarget.checked ? true : undefined)}
          />
        ))}
      </div>
    </section>
  );
}

interface SettingProps {
  readonly label: string;
  readonly type?: 'text' | 'number';
  readonly value: Json | undefined;
  readonly onChange: (value: string) => void;
}

/** Written into the text when the field is left, so that each change is one step to undo. */
function Setting({ label, type = 'text', value, onChange }: SettingProps): ReactNode {
  const shown = value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value);
  return (
    <TextInput
      key={shown}
      size="xs"
      type={type}
      label={label}
      defaultValue={shown}
      onBlur={(event) => {
        if (event.currentTarget.value !== shown) onChange(event.currentTarget.value.trim());
      }}
    />
  );
}

/** The innermost step around the cursor. */
function stepAround(places: Places, cursor: number): readonly PathPart[] | undefined {
  const parts = places.at(cursor)?.parts ?? [];
  for (let length = parts.length; length > 0; length -= 1) {
    if (isStepPath(parts.slice(0, length))) return parts.slice(0, length);
  }
  return undefined;
}

function memberValue(text: string, places: Places, parts: readonly PathPart[]): Json | undefined {
  const place = places.all.find((each) => each.parts.length === parts.length && each.parts.every((part, index) => part === parts[index]));
  if (place === undefined) return undefined;
  try {
    return JSON.parse(text.slice(place.from, place.to)) as Json;
  } catch {
    return undefined;
  }
}
