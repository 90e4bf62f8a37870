import { Button, Checkbox } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import type { Json } from '@engine/json.ts';
import type { McpServerRecord } from '@model/mcp-server.ts';
import { useAccount } from '../data/account.tsx';
import { call, type ListedTool } from '../data/api.ts';
import { useLiveList } from '../data/live.ts';
import { queries } from '../data/queries.ts';
import { mcpServerShape } from '../data/shapes.ts';
import { useText } from '../text/text.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { Empty, Loading, Problem } from '../ui/states.tsx';
import { Badge, type Tone } from '../ui/status.tsx';
import { toast } from '../ui/toast.tsx';
import { JsonForm, RemoveButton } from './json-form.tsx';
import { useCall } from './use-call.ts';
import styles from './operations.module.css';

const fresh = {
  serverId: 'tickets',
  name: 'Tickets',
  url: 'https://tools.example.com/mcp',
  secretHeaders: { Authorization: 'Bearer {{secret.TICKETS_TOKEN}}' },
  allowTools: ['search'],
};

/** What a person edits of a server. */
function editable({ serverId, name, url, secretHeaders, allowTools, negotiate }: McpServerRecord): Readonly<Record<string, Json>> {
  return JSON.parse(JSON.stringify({ serverId, name, url, secretHeaders, allowTools, negotiate })) as Readonly<Record<string, Json>>;
}

type Panel =
  | { readonly kind: 'edit'; readonly initial: Readonly<Record<string, Json>> }
  | { readonly kind: 'tools'; readonly server: McpServerRecord };

/** Servers of tools, and which of their tools somebody has looked at and approved. */
export function ToolsPane(): ReactNode {
  const { t } = useText();
  const { accountId, can } = useAccount();
  const live = useLiveList(can('start') ? queries.mcpServers(accountId) : undefined, mcpServerShape);
  const [panel, setPanel] = useState<Panel>();
  const words = t.operations.tools;
  const close = (): void => setPanel(undefined);
  if (!can('start')) return <Empty icon="ban" title={t.operations.only} />;
  if (live.state === 'loading') return <Loading lines={3} />;
  if (live.state === 'failed') return <Problem error={live.error} />;
  return (
    <div className={styles['stack']}>
      <p className="soft">{words.text}</p>
      {live.value.length === 0 ? <Empty icon="link" title={words.none.title} text={words.none.text} /> : null}
      <ul className={styles['list']}>
        {live.value.map(({ id, value }) => (
          <ServerRow
            key={id}
            server={value}
            onEdit={() => setPanel({ kind: 'edit', initial: editable(value) })}
            onTools={() => setPanel({ kind: 'tools', server: value })}
          />
        ))}
      </ul>
      {can('administer') ? (
        <div className={styles['actions']}>
          <Button variant="default" onClick={() => setPanel({ kind: 'edit', initial: fresh })}>
            {words.add}
          </Button>
        </div>
      ) : null}
      <Dialog open={panel?.kind === 'edit'} onClose={close} title={words.edit}>
        {panel?.kind === 'edit' ? <JsonForm op="mcp.put" initial={panel.initial} help={words.help} onDone={close} /> : null}
      </Dialog>
      <Dialog
        open={panel?.kind === 'tools'}
        onClose={close}
        title={words.toolsOf(panel?.kind === 'tools' ? panel.server.serverId : '')}
        wide
      >
        {panel?.kind === 'tools' ? <Tools server={panel.server} onDone={close} /> : null}
      </Dialog>
    </div>
  );
}

interface RowProps {
  readonly server: McpServerRecord;
  readonly onEdit: () => void;
  readonly onTools: () => void;
}

function ServerRow({ server, onEdit, onTools }: RowProps): ReactNode {
  const { t } = useText();
  const { can } = useAccount();
  const { problem, run } = useCall();
  const words = t.operations.tools;
  const approved = Object.keys(server.toolHashes);
  return (
    <li>
      <div className={styles['main']}>
        <div className={styles['line']}>
          <strong>{server.name ?? server.serverId}</strong>
          <code>{server.url}</code>
        </div>
        <p className="small soft">
          {words.approvedTools(approved.length)}
          {server.allowTools === undefined ? '' : ` · ${words.allowed(server.allowTools.join(', '))}`}
        </p>
        {problem === undefined ? null : <Problem error={problem} compact />}
      </div>
      <div className={styles['actions']}>
        {can('author') ? (
          <Button variant="default" size="compact-sm" onClick={onTools}>
            {words.look}
          </Button>
        ) : null}
        {can('administer') ? (
          <>
            <Button variant="default" size="compact-sm" onClick={onEdit}>
              {t.operations.members.change}
            </Button>
            <RemoveButton question={words.removeSure(server.serverId)} onRemove={() => run('mcp.delete', { serverId: server.serverId })} />
          </>
        ) : null}
      </div>
    </li>
  );
}

const tones: Readonly<Record<ListedTool['approval'], Tone>> = { approved: 'good', changed: 'bad', none: 'idle' };

/** Asks the server for its tools. What it says of them is shown as text, and counts only when somebody approves it. */
function Tools({ server, onDone }: { readonly server: McpServerRecord; readonly onDone: () => void }): ReactNode {
  const { t } = useText();
  const { accountId, can } = useAccount();
  const [tools, setTools] = useState<readonly ListedTool[]>();
  const [asking, setAsking] = useState(false);
  const [failure, setFailure] = useState<unknown>();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const { busy, problem, run } = useCall();
  const words = t.operations.tools;
  const ask = (): void => {
    setAsking(true);
    setFailure(undefined);
    call('mcp.tools', accountId, { serverId: server.serverId })
      .then(setTools, setFailure)
      .finally(() => setAsking(false));
  };
  const approve = async (): Promise<void> => {
    const hashes = Object.fromEntries((tools ?? []).flatMap(({ name, hash }) => (chosen.has(name) ? [[name, hash]] : [])));
    if (!(await run('mcp.approve', { serverId: server.serverId, tools: hashes }))) return;
    toast('good', words.approvedNow(chosen.size));
    onDone();
  };
  const toggle = (name: string): void =>
    setChosen(new Set(chosen.has(name) ? [...chosen].filter((each) => each !== name) : [...chosen, name]));
  return (
    <div className={styles['form']}>
      <p className="soft">{words.warning}</p>
      <div className={styles['actions']}>
        <Button variant="default" loading={asking} onClick={ask}>
          {words.ask}
        </Button>
      </div>
      {failure === undefined ? null : <Problem error={failure} compact />}
      <ul className={styles['list']}>
        {(tools ?? []).map((tool) => (
          <li key={tool.name}>
            <div className={styles['main']}>
              <div className={styles['line']}>
                {can('administer') && tool.approval !== 'approved' ? (
                  <Checkbox label={tool.name} checked={chosen.has(tool.name)} onChange={() => toggle(tool.name)} />
                ) : (
                  <strong>{tool.name}</strong>
                )}
                <Badge
                  tone={tones[tool.approval]}
                  icon={tool.approval === 'approved' ? 'check' : tool.approval === 'changed' ? 'warn' : 'minus'}
                >
                  {words.states[tool.approval]}
                </Badge>
                {tool.destructive ? <span className="small soft">{words.destructive}</span> : null}
              </div>
              <p className="small">{tool.description}</p>
              <details>
                <summary className="small soft">{words.schema}</summary>
                <JsonView value={tool.inputSchema} />
              </details>
            </div>
          </li>
        ))}
      </ul>
      {problem === undefined ? null : <Problem error={problem} compact />}
      {can('administer') && tools !== undefined ? (
        <Button loading={busy} disabled={chosen.size === 0} onClick={() => void approve()}>
          {words.approve}
        </Button>
      ) : null}
    </div>
  );
}
