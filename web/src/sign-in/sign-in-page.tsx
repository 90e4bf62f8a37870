import { Button, TextInput } from '@mantine/core';
import { signInWithEmailAndPassword } from 'firebase/auth';
import { useState, type ReactNode } from 'react';
import { services } from '../data/firebase.ts';
import { codeOf } from '../data/problem.ts';
import { useText } from '../text/text.tsx';
import { Icon, type IconName } from '../ui/icons.tsx';
import { finishLink, isReturn, rememberedEmail, sendLink } from './email-link.ts';
import styles from './sign-in-page.module.css';

const demoPeople = [
  { id: 'approver', icon: 'check' },
  { id: 'operator', icon: 'wrench' },
  { id: 'admin', icon: 'people' },
  { id: 'outsider', icon: 'ban' },
] as const satisfies readonly { id: string; icon: IconName }[];

const DEMO_PASSWORD = 'kiln-demo';

export function SignInPage(): ReactNode {
  const { t } = useText();
  const demo = services().environment.emulators !== undefined;
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);

  const attempt = async (action: () => Promise<unknown>): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      await action();
    } catch (error) {
      const unknown = demo && ['user-not-found', 'invalid-credential', 'invalid-login-credentials'].includes(codeOf(error));
      setProblem(unknown ? t.signIn.noDemoUser : error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };

  return (
    <main className={styles['page']}>
      <div className={styles['card']}>
        <img src="/icon.svg" alt="" width={40} height={40} />
        <h1>{demo ? t.signIn.demoTitle : t.signIn.title}</h1>
        {demo ? <DemoPeople busy={busy} attempt={attempt} /> : <RealPeople busy={busy} attempt={attempt} />}
        {problem === undefined ? null : (
          <p className={styles['problem']} role="alert">
            <strong>{t.signIn.failed}.</strong> {problem}
          </p>
        )}
      </div>
    </main>
  );
}

interface WaysProps {
  readonly busy: boolean;
  readonly attempt: (action: () => Promise<unknown>) => Promise<void>;
}

function DemoPeople({ busy, attempt }: WaysProps): ReactNode {
  const { t } = useText();
  return (
    <>
      <p className="soft">{t.signIn.demoNote}</p>
      <ul className={styles['people']}>
        {demoPeople.map(({ id, icon }) => (
          <li key={id}>
            <button
              type="button"
              disabled={busy}
              onClick={() => void attempt(() => signInWithEmailAndPassword(services().auth, `${id}@demo.kiln`, DEMO_PASSWORD))}
            >
              <Icon name={icon} size={20} />
              <span>
                <strong>{t.signIn.demo[id].name}</strong>
                <span className="small soft">{t.signIn.demo[id].what}</span>
              </span>
              <Icon name="right" />
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

function RealPeople({ busy, attempt }: WaysProps): ReactNode {
  const { t } = useText();
  const returning = isReturn();
  const [email, setEmail] = useState(rememberedEmail);
  const [sentTo, setSentTo] = useState<string>();
  if (sentTo !== undefined) return <p>{t.signIn.linkSent(sentTo)}</p>;
  return (
    <>
      {returning ? (
        <p>{t.signIn.confirmEmail}</p>
      ) : (
        <>
          <Button size="md" loading={busy} onClick={() => void attempt(async () => (await import('./google.ts')).signInWithGoogle())}>
            {t.signIn.google}
          </Button>
          <p className={styles['or']}>{t.signIn.or}</p>
        </>
      )}
      <form
        className={styles['form']}
        onSubmit={(event) => {
          event.preventDefault();
          void attempt(async () => {
            if (returning) return finishLink(email);
            await sendLink(email);
            setSentTo(email);
          });
        }}
      >
        <TextInput
          label={t.signIn.email}
          type="email"
          required
          autoComplete="email"
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <Button type="submit" variant={returning ? 'filled' : 'default'} loading={busy}>
          {returning ? t.signIn.finish : t.signIn.sendLink}
        </Button>
      </form>
    </>
  );
}
