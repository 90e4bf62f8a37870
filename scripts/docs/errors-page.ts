import { errorCodes } from '../../functions/src/model/errors.ts';
import type { ErrorClass } from '../../functions/src/model/errors.ts';
import { tableOf } from './markdown.ts';

const groups: Readonly<Record<string, string>> = {
  template: 'Templates',
  condition: 'Conditions',
  payload: 'Values',
  schema: 'JSON Schema',
  definition: 'Definitions',
  preflight: 'Pre-flight',
  duration: 'Durations',
  date: 'Dates',
  schedule: 'Schedules',
  step: 'Steps',
  loop: 'Loops',
  wait: 'Waits',
  approval: 'Approvals',
  run: 'Runs',
  state: 'Business states',
  command: 'Commands',
  code: 'Code workflows',
  http: 'HTTP',
  llm: 'Language models',
  mcp: 'MCP servers',
  notify: 'Notifications',
  kb: 'Knowledge base',
  secret: 'Secrets',
  limit: 'Limits',
  effect: 'Effects',
  request: 'Requests',
  auth: 'Access',
  internal: 'Kiln itself',
};

const classWords: Readonly<Record<ErrorClass, string>> = {
  retryable: 'retried',
  not_retryable: 'final',
  business: 'business',
  unknown_outcome: 'unknown outcome',
};

/** docs/errors.md: every code with its class and what to do. */
export function errorsPage(): string {
  const byGroup = new Map<string, string[][]>();
  for (const [code, entry] of Object.entries(errorCodes)) {
    const group = code.split('.')[0] ?? code;
    byGroup.set(group, [...(byGroup.get(group) ?? []), [`\`${code}\``, classWords[entry.class], entry.help]]);
  }
  const sections = [...byGroup].map(
    ([group, rows]) => `## ${groups[group] ?? group}\n\n${tableOf(['code', 'class', 'what it means, what to do'], rows)}`,
  );
  return `${[HEAD, ...sections].join('\n\n')}\n`;
}

const HEAD = `# Error codes

<!-- Made from functions/src/model/errors.ts by \`npm run docs\`. Do not edit. -->

Every error that Kiln stores or answers with carries a code that does not change. Its class decides what the engine does:

| class | what happens |
|---|---|
| retried | tried again under the step's retry policy; when the attempts are used up, the step fails |
| final | trying again cannot help: the step fails at once |
| business | takes the path \`onException\`; never retried |
| unknown outcome | the effect may have happened: never repeated silently; a person or a \`confirm\` check settles it |

Codes of your own come from \`fail\` steps and from \`BusinessException\` in code; they are always of the class business.`;
