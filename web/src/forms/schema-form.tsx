import { ActionIcon, Button, Checkbox, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { useMemo, useState, type ReactNode } from 'react';
import type { Json } from '@engine/json.ts';
import { useText } from '../text/text.tsx';
import { Icon } from '../ui/icons.tsx';
import { fieldOf, valueAt, withValueAt, type Field } from './fields.ts';
import { faultText } from './fault-text.ts';
import type { Fault } from './validate.ts';
import styles from './schema-form.module.css';

interface FormProps {
  readonly schema: Json;
  readonly value: Json;
  readonly onChange: (value: Json) => void;
  readonly faults: readonly Fault[];
}

/** A form that a JSON Schema describes. */
export function SchemaForm({ schema, value, onChange, faults }: FormProps): ReactNode {
  const field = useMemo(() => fieldOf(schema), [schema]);
  const set = (path: string, next: Json | undefined): void => onChange(withValueAt(value, path, next));
  return (
    <div className={styles['form']}>
      {field.kind === 'object' ? (
        field.fields.map((each) => <FieldInput key={each.path} field={each} value={value} set={set} faults={faults} />)
      ) : (
        <FieldInput field={field} value={value} set={set} faults={faults} />
      )}
      {field.kind === 'object' ? <GroupFault field={field} faults={faults} /> : null}
    </div>
  );
}

interface FieldProps {
  readonly field: Field;
  readonly value: Json;
  readonly set: (path: string, next: Json | undefined) => void;
  readonly faults: readonly Fault[];
}

/** What is wrong with a group as a whole, such as too few of a list. */
function GroupFault({ field, faults }: Pick<FieldProps, 'field' | 'faults'>): ReactNode {
  const { t } = useText();
  const fault = faults.find(({ path }) => path === field.path);
  return fault === undefined ? null : <p className={styles['fault']}>{faultText(fault, t)}</p>;
}

function FieldInput(props: FieldProps): ReactNode {
  const { field, value, set, faults } = props;
  const { t } = useText();
  const current = valueAt(value, field.path);
  const fault = faults.find(({ path }) => path === field.path);
  const common = {
    label: field.label,
    description: field.help,
    required: field.required,
    error: fault === undefined ? undefined : faultText(fault, t),
  };
  switch (field.kind) {
    case 'text': {
      const input = {
        ...common,
        value: typeof current === 'string' ? current : '',
        onChange: (event: { currentTarget: { value: string } }) =>
          set(field.path, event.currentTarget.value === '' && !field.required ? undefined : event.currentTarget.value),
      };
      return field.long ? (
        <Textarea {...input} autosize minRows={3} maxRows={12} />
      ) : (
        <TextInput {...input} type={inputType(field.format)} />
      );
    }
    case 'number':
      return (
        <TextInput
          {...common}
          type="number"
          inputMode={field.integer ? 'numeric' : 'decimal'}
          step={field.integer ? 1 : 'any'}
          {...(field.min === undefined ? {} : { min: field.min })}
          {...(field.max === undefined ? {} : { max: field.max })}
          value={typeof current === 'number' ? current : ''}
          onWheel={(event) => event.currentTarget.blur()}
          onChange={(event) => set(field.path, event.currentTarget.value === '' ? undefined : event.currentTarget.valueAsNumber)}
        />
      );
    case 'boolean':
      return (
        <Checkbox
          label={field.label}
          description={field.help}
          error={common.error}
          checked={current === true}
          onChange={(event) => set(field.path, event.currentTarget.checked)}
        />
      );
    case 'choice':
      return <ChoiceInput {...common} field={field} current={current} set={set} />;
    case 'object':
      return (
        <fieldset className={styles['group']}>
          <legend>{field.label}</legend>
          {field.fields.map((each) => (
            <FieldInput key={each.path} {...props} field={each} />
          ))}
          <GroupFault field={field} faults={faults} />
        </fieldset>
      );
    case 'list':
      return <ListInput {...props} field={field} items={Array.isArray(current) ? current : []} />;
    case 'json':
      return <JsonInput {...common} value={current} onChange={(next) => set(field.path, next)} />;
  }
}

function inputType(format: 'plain' | 'email' | 'uri' | 'date' | 'date-time'): string {
  switch (format) {
    case 'email':
      return 'email';
    case 'uri':
      return 'url';
    case 'date':
      return 'date';
    case 'plain':
    case 'date-time':
      return 'text';
  }
}

interface ChoiceProps {
  readonly field: Extract<Field, { kind: 'choice' }>;
  readonly current: Json | undefined;
  readonly set: FieldProps['set'];
  readonly label: string;
  readonly description: string | undefined;
  readonly required: boolean;
  readonly error: string | undefined;
}

function ChoiceInput({ field, current, set, ...common }: ChoiceProps): ReactNode {
  const chosen = field.options.findIndex((option) => JSON.stringify(option.value) === JSON.stringify(current));
  return (
    <NativeSelect
      {...common}
      value={String(chosen)}
      onChange={(event) => set(field.path, field.options[Number(event.currentTarget.value)]?.value)}
      data={[
        { value: '-1', label: '–', disabled: field.required },
        ...field.options.map((option, index) => ({ value: String(index), label: option.label })),
      ]}
    />
  );
}

function ListInput({
  field,
  items,
  ...props
}: FieldProps & { readonly field: Extract<Field, { kind: 'list' }>; readonly items: readonly Json[] }): ReactNode {
  const { t } = useText();
  return (
    <fieldset className={styles['group']}>
      <legend>{field.label}</legend>
      {items.map((_, index) => {
        const inner = field.item(index);
        return (
          <div key={inner.path} className={styles['item']}>
            <FieldInput {...props} field={inner} />
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={t.forms.remove(`${field.label} ${index + 1}`)}
              onClick={() => props.set(inner.path, undefined)}
            >
              <Icon name="minus" />
            </ActionIcon>
          </div>
        );
      })}
      <Button
        variant="default"
        size="compact-sm"
        leftSection={<Icon name="plus" size={16} />}
        onClick={() => props.set(field.path, [...items, field.fresh])}
      >
        {t.forms.add}
      </Button>
      <GroupFault field={field} faults={props.faults} />
    </fieldset>
  );
}

interface JsonInputProps {
  readonly label: string;
  readonly description: string | undefined;
  readonly required: boolean;
  readonly error: string | undefined;
  readonly value: Json | undefined;
  readonly onChange: (value: Json | undefined) => void;
}

/** A value as JSON text; while the text is no JSON, the last good value stands and the field says so. */
export function JsonInput({ value, onChange, error, ...common }: JsonInputProps): ReactNode {
  const { t } = useText();
  const [text, setText] = useState(() => (value === undefined ? '' : JSON.stringify(value, null, 2)));
  const [broken, setBroken] = useState(false);
  const change = (next: string): void => {
    setText(next);
    if (next.trim() === '') {
      setBroken(false);
      onChange(undefined);
      return;
    }
    try {
      const parsed = JSON.parse(next) as Json;
      setBroken(false);
      onChange(parsed);
    } catch {
      setBroken(true);
    }
  };
  return (
    <Textarea
      {...common}
      classNames={{ input: styles['code'] ?? '' }}
      autosize
      minRows={4}
      maxRows={20}
      spellCheck={false}
      value={text}
      error={broken ? t.forms.notJson : error}
      onChange={(event) => change(event.currentTarget.value)}
    />
  );
}
