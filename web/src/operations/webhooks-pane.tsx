import { Button, NativeSelect } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import type { Json } from '@engine/json.ts';
import type { HookRecord } from '@model/hook.ts';
import type { OutboxRecord } from '@model/outbox.ts';
import { useAccount } from '../data/account.tsx';
import { services } from '../data/firebase.ts';
import { useLiveList } from '../data/live.ts';
import { queries } from '../data/queries.ts';
import { hookShape, outboxShape } from '../data/shapes.ts';
import { useText } from '../text/text.tsx';
import { CopyButton } from '../ui/copy.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { Badge, type Tone } from '../ui/status.tsx';
import { Ago } from '../ui/time.tsx';
import type { IconName } from '../ui/icons.tsx';
import { toast } from '../ui/toast.tsx';
import { JsonForm, RemoveButton } from './json-form.tsx';
import { useCall } from './use-call.ts';
import styles from './operations.module.css';

export function WebhooksPane(): ReactNode {
  const { t } = useText();
  const { can } = useAccount();
  const words = t.operations.webhooks;
  return (
    <div className={styles['stack']}>
      <section className={styles['stack']}>
        <h2>{words.in}</h2>
        {can('start') ? <Hooks /> : <p className="soft">{t.operations.only}</p>}
      </section>
      <section className={styles['stack']}>
        <h2>{words.out}</h2>
        {services().environment.emulators === undefined ? null : <p className="small soft">{words.demo}</p>}
        {can('operate') ? <Outbox /> : <p className="soft">{t.operations.only}</p>}
      </section>
    </div>
  );
}

const fresh = {
  hookId: 'orders',
  scheme: { kind: 'standard' },
  keys: ['ORDERS_KEY'],
  target: { kind: 'start', workflowId: 'my-workflow' },
  active: true,
};

function Hooks(): ReactNode {
  const { t } = useText();
  const { accountId, can } = useAccount();
  const live = useLiveList(queries.hooks(accountId), hookShape);
  const [editing, setEditing] = useState<Readonly<Record<string, Json>>>();
  if (live.state === 'loading') return <Loading lines={2} />;
  if (live.state === 'failed') return <Problem error={live.error} />;
  const words = t.operations.webhooks;
  const close = (): void => setEditing(undefined);
  return (
    <>
      {live.value.length === 0 ? <Empty icon="link" title={words.noHooks.title} text={words.noHooks.text} /> : null}
      <ul className={styles['list']}>
        {live.value.map(({ id, value }) => (
          <HookRow key={id} hook={value} onEdit={() => setEditing(editable(value))} />
        ))}
      </ul>
      {can('administer') ? (
        <div className={styles['actions']}>
          <Button variant="default" onClick={() => setEditing(fresh)}>
            {words.add}
          </Button>
        </div>
      ) : null}
      <Dialog open={editing !== undefined} onClose={close} title={words.edit}>
        {editing === undefined ? null : <JsonForm op="hooks.put" initial={editing} help={words.help} onDone={close} />}
      </Dialog>
    </>
  );
}

/** What a person edits of an address. */
function editable({ v: _v, accountId: _accountId, ...hook }: HookRecord): Readonly<Record<string, Json>> {
  return JSON.parse(JSON.stringify(hook)) as Readonly<Record<string, Json>>;
}

function HookRow({ hook, onEdit }: { readonly hook: HookRecord; readonly onEdit: () => void }): ReactNode {
  const { t } = useText();
  const { can } = useAccount();
  const { problem, run } = useCall();
  const words = t.operations.webhooks;
  const address = `${location.origin}/hooks/${hook.accountId}/${hook.hookId}`;
  const target = hook.target.kind === 'start' ? words.target.start(hook.target.workflowId) : words.target.event(hook.target.name);
  return (
    <li>
      <div className={styles['main']}>
        <div className={styles['line']}>
          <strong>{hook.hookId}</strong>
          <Badge tone={hook.active ? 'good' : 'idle'} icon={hook.active ? 'check' : 'minus'}>
            {hook.active ? words.active : words.inactive}
          </Badge>
          <span className="soft">{target}</span>
        </div>
        <code>{address}</code>
        {problem === undefined ? null : <Problem error={problem} compact />}
      </div>
      <div className={styles['actions']}>
        <CopyButton label={words.address} text={() => address} />
        {can('administer') ? (
          <>
            <Button variant="default" size="compact-sm" onClick={onEdit}>
              {t.operations.members.change}
            </Button>
            <RemoveButton question={words.removeSure(hook.hookId)} onRemove={() => run('hooks.delete', { hookId: hook.hookId })} />
          </>
        ) : null}
      </div>
    </li>
  );
}

const states = ['queued', 'sending', 'sent', 'failed'] as const;
const looks: Readonly<Record<OutboxRecord['state'], { tone: Tone; icon: IconName }>> = {
  queued: { tone: 'idle', icon: 'clock' },
  sending: { tone: 'run', icon: 'spark' },
  sent: { tone: 'good', icon: 'check' },
  failed: { tone: 'bad', icon: 'cross' },
};

function Outbox(): ReactNode {
  const { t } = useText();
  const { accountId } = useAccount();
  const [state, setState] = useState('');
  const live = useLiveList(queries.outbox(accountId, state === '' ? undefined : state), outboxShape);
  const words = t.operations.webhooks;
  return (
    <>
      <div className={styles['row']}>
        <NativeSelect
          label={t.runs.status}
          value={state}
          onChange={(event) => setState(event.currentTarget.value)}
          data={[{ value: '', label: words.anyState }, ...states.map((each) => ({ value: each, label: words.states[each] }))]}
        />
      </div>
      {live.state === 'loading' ? <Loading lines={3} /> : null}
      {live.state === 'failed' ? <Problem error={live.error} /> : null}
      {live.state === 'ready' && live.value.length === 0 ? (
        <Empty icon="external" title={words.noDeliveries.title} text={words.noDeliveries.text} />
      ) : null}
      <ul className={styles['list']}>
        {(live.state === 'ready' ? live.value : []).map(({ id, value }) => (
          <Delivery key={id} delivery={value} />
        ))}
      </ul>
    </>
  );
}

function Delivery({ delivery }: { readonly delivery: OutboxRecord }): ReactNode {
  const { t } = useText();
  const { busy, problem, run } = useCall();
  const words = t.operations.webhooks;
  const resend = async (): Promise<void> => {
    if (await run('outbox.resend', { id: delivery.id })) toast('good', words.resent);
  };
  return (
    <li>
      <div className={styles['main']}>
        <div className={styles['line']}>
          <Badge {...looks[delivery.state]}>{words.states[delivery.state]}</Badge>
          <strong>{delivery.subject ?? delivery.kind}</strong>
          <span className="soft">{delivery.to}</span>
          <span className="small soft">
            <Ago at={delivery.createdAt} /> · {words.attempts(delivery.attempt)}
          </span>
        </div>
        {delivery.error === undefined ? null : <p className="small">{delivery.error.message}</p>}
        <details>
          <summary className="small soft">{words.content}</summary>
          <pre className="small">{delivery.body}</pre>
        </details>
        {problem === undefined ? null : <Problem error={problem} compact />}
      </div>
      {delivery.state === 'failed' || delivery.state === 'sent' ? (
        <Button variant="default" size="compact-sm" loading={busy} onClick={() => void resend()}>
          {words.resend}
        </Button>
      ) : null}
    </li>
  );
}
