import { asArray, asNumber, asObject, asString, type JsonObject } from '../json-fields.ts';

export interface SunkMail {
  readonly id: string;
  readonly receivedAt: string;
  readonly from: string;
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly categories: readonly string[];
  readonly customArgs: Readonly<Record<string, string>>;
  readonly bytes: number;
}

function address(value: unknown): string {
  const fields = asObject(value);
  const email = asString(fields?.['email']) ?? '';
  const name = asString(fields?.['name']);
  return name === undefined || name === '' ? email : `${name} <${email}>`;
}

function strings(value: unknown): Record<string, string> {
  return Object.fromEntries(Object.entries(asObject(value) ?? {}).map(([key, text]) => [key, String(text)]));
}

/** Everything SendGrid would refuse, as it says it: a list of `{message, field}`. Empty when the mail is acceptable. */
export function problemsOf(body: JsonObject): { readonly message: string; readonly field: string; readonly help: null }[] {
  const problems: { readonly message: string; readonly field: string; readonly help: null }[] = [];
  const report = (field: string, message: string): void => void problems.push({ message, field, help: null });
  const personalizations = asArray(body['personalizations']);
  if (personalizations.length === 0 || personalizations.length > 1000)
    report('personalizations', 'The personalizations field is required and must have 1 to 1000 entries.');
  personalizations.forEach((entry, index) => {
    const to = asArray(asObject(entry)?.['to']);
    if (to.length === 0)
      report(
        `personalizations.${index}.to`,
        'The to array is required for all personalization objects, and must have at least one email object.',
      );
    for (const person of to) {
      if (!/^[^\s@]+@[^\s@]+$/.test(asString(asObject(person)?.['email']) ?? ''))
        report(`personalizations.${index}.to.email`, 'Does not contain a valid address.');
    }
  });
  if (!/^[^\s@]+@[^\s@]+$/.test(asString(asObject(body['from'])?.['email']) ?? ''))
    report('from.email', 'The from email does not contain a valid address.');
  const subject = asString(body['subject']) ?? asString(asObject(personalizations[0])?.['subject']) ?? '';
  const template = asString(body['template_id']);
  if (subject === '' && template === undefined) report('subject', 'The subject is required.');
  const content = asArray(body['content']);
  if (content.length === 0 && template === undefined)
    report('content', 'Unless a valid template_id is provided, the content parameter is required.');
  for (const part of content) {
    if ((asString(asObject(part)?.['value']) ?? '') === '')
      report('content', 'The content value must be a string at least one character in length.');
  }
  const sendAt = asNumber(body['send_at']);
  if (sendAt !== undefined && sendAt * 1000 > Date.now() + 72 * 3_600_000)
    report('send_at', 'Scheduling more than 72 hours in advance is forbidden.');
  return problems;
}

/** One mail per personalization, as recipients would see it. */
export function readMails(body: JsonObject, id: string, receivedAt: string, bytes: number): SunkMail[] {
  const part = (type: string): string =>
    asString(
      asArray(body['content'])
        .map((item) => asObject(item))
        .find((item) => item?.['type'] === type)?.['value'],
    ) ?? '';
  const personalizations = asArray(body['personalizations']).map((entry) => asObject(entry) ?? {});
  return personalizations.map((entry, index) => ({
    id: personalizations.length === 1 ? id : `${id}.${index}`,
    receivedAt,
    from: address(body['from']),
    to: asArray(entry['to']).map(address),
    cc: asArray(entry['cc']).map(address),
    subject: asString(entry['subject']) ?? asString(body['subject']) ?? '',
    text: part('text/plain'),
    html: part('text/html'),
    headers: { ...strings(body['headers']), ...strings(entry['headers']) },
    categories: asArray(body['categories']).map(String),
    customArgs: { ...strings(body['custom_args']), ...strings(entry['custom_args']) },
    bytes: Math.ceil(bytes / personalizations.length),
  }));
}
