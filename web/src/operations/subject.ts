import type { Subject } from '@model/job.ts';

/** What the form says about a person; undefined while it names nobody. */
export function subjectOf(fields: {
  readonly uid: string;
  readonly email: string;
  readonly businessKey: string;
  readonly attribute: string;
  readonly value: string;
}): Subject | undefined {
  const filled = (name: keyof typeof fields): string => fields[name].trim();
  const subject: Subject = {
    ...(filled('uid') === '' ? {} : { uid: filled('uid') }),
    ...(filled('email') === '' ? {} : { email: filled('email') }),
    ...(filled('businessKey') === '' ? {} : { businessKey: filled('businessKey') }),
    ...(filled('attribute') === '' || filled('value') === '' ? {} : { attribute: { name: filled('attribute'), value: filled('value') } }),
  };
  return Object.keys(subject).length === 0 ? undefined : subject;
}
