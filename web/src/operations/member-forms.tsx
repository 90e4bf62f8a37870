import { Button, Checkbox, NativeSelect, TextInput } from '@mantine/core';
import { useState, type FormEvent, type ReactNode } from 'react';
import { roles, type MemberRecord, type Role } from '@model/member.ts';
import { useAccount, usePeople } from '../data/account.tsx';
import { useText } from '../text/text.tsx';
import { Problem } from '../ui/states.tsx';
import { toast } from '../ui/toast.tsx';
import { useCall } from './use-call.ts';
import styles from './operations.module.css';

interface FormProps {
  readonly onDone: () => void;
}

function list(text: string): string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

function RoleChoice({
  chosen,
  onChange,
}: {
  readonly chosen: readonly Role[];
  readonly onChange: (roles: readonly Role[]) => void;
}): ReactNode {
  const { t } = useText();
  return (
    <fieldset className={styles['roles']}>
      <legend>{t.operations.members.roles}</legend>
      {roles.map((role) => (
        <Checkbox
          key={role}
          label={t.shell.roles[role]}
          checked={chosen.includes(role)}
          onChange={(event) => onChange(event.currentTarget.checked ? [...chosen, role] : chosen.filter((each) => each !== role))}
        />
      ))}
    </fieldset>
  );
}

export function InviteForm({ onDone }: FormProps): ReactNode {
  const { t } = useText();
  const words = t.operations.members;
  const [email, setEmail] = useState('');
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState<readonly Role[]>(['viewer']);
  const [departments, setDepartments] = useState('');
  const { busy, problem, run } = useCall();
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (!(await run('inviteMember', { email, name, roles: chosen, departments: list(departments) }))) return;
    toast('good', words.invited(email));
    onDone();
  };
  return (
    <form className={styles['form']} onSubmit={(event) => void send(event)}>
      <TextInput type="email" label={words.email} required value={email} onChange={(event) => setEmail(event.currentTarget.value)} />
      <TextInput label={words.name} value={name} onChange={(event) => setName(event.currentTarget.value)} />
      <RoleChoice chosen={chosen} onChange={setChosen} />
      <TextInput label={words.departments} value={departments} onChange={(event) => setDepartments(event.currentTarget.value)} />
      {problem === undefined ? null : <Problem error={problem} compact />}
      <Button type="submit" loading={busy} disabled={chosen.length === 0}>
        {words.invite}
      </Button>
    </form>
  );
}

export function MemberForm({ member, onDone }: FormProps & { readonly member: MemberRecord }): ReactNode {
  const { t } = useText();
  const words = t.operations.members;
  const [name, setName] = useState(member.name);
  const [chosen, setChosen] = useState<readonly Role[]>(member.roles);
  const [departments, setDepartments] = useState(member.departments.join(', '));
  const [active, setActive] = useState(member.active);
  const { busy, problem, run } = useCall();
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (!(await run('changeMember', { uid: member.uid, name, roles: chosen, departments: list(departments), active }))) return;
    toast('good', words.saved);
    onDone();
  };
  return (
    <form className={styles['form']} onSubmit={(event) => void send(event)}>
      <TextInput label={words.name} value={name} onChange={(event) => setName(event.currentTarget.value)} />
      <RoleChoice chosen={chosen} onChange={setChosen} />
      <TextInput label={words.departments} value={departments} onChange={(event) => setDepartments(event.currentTarget.value)} />
      <Checkbox label={words.active} checked={active} onChange={(event) => setActive(event.currentTarget.checked)} />
      {problem === undefined ? null : <Problem error={problem} compact />}
      <Button type="submit" loading={busy}>
        {words.save}
      </Button>
    </form>
  );
}

/** Out of office: somebody else decides in the person's place between two times. */
export function DelegationForm({ onDone }: FormProps): ReactNode {
  const { t } = useText();
  const words = t.operations.members;
  const { me } = useAccount();
  const people = usePeople();
  const others = people.all.filter((member) => member.active && member.uid !== me.uid);
  const [to, setTo] = useState('');
  const [from, setFrom] = useState('');
  const [until, setUntil] = useState('');
  const [reason, setReason] = useState('');
  const { busy, problem, run } = useCall();
  const chosen = to === '' ? (others[0]?.uid ?? '') : to;
  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const begins = from === '' ? {} : { from: new Date(from).getTime() };
    const why = reason.trim() === '' ? {} : { reason: reason.trim() };
    if (!(await run('delegate', { to: chosen, until: new Date(until).getTime(), ...begins, ...why }))) return;
    toast('good', words.saved);
    onDone();
  };
  return (
    <form className={styles['form']} onSubmit={(event) => void send(event)}>
      <NativeSelect
        label={words.to}
        required
        value={chosen}
        onChange={(event) => setTo(event.currentTarget.value)}
        data={others.map((member) => ({ value: member.uid, label: people.nameOf(member.uid) }))}
      />
      <TextInput type="datetime-local" label={words.from} value={from} onChange={(event) => setFrom(event.currentTarget.value)} />
      <TextInput
        type="datetime-local"
        label={words.until}
        required
        value={until}
        onChange={(event) => setUntil(event.currentTarget.value)}
      />
      <TextInput label={words.reason} value={reason} maxLength={500} onChange={(event) => setReason(event.currentTarget.value)} />
      {problem === undefined ? null : <Problem error={problem} compact />}
      <Button type="submit" loading={busy} disabled={chosen === '' || until === ''}>
        {words.save}
      </Button>
    </form>
  );
}
