import type { Json } from '../engine/json.ts';
import { seal } from '../engine/templates.ts';

/** Text in which `{{secret.NAME}}` stands for a secret. Only the team's own code can make one: no data can. */
export class SecretText {
  readonly template: string;

  constructor(template: string) {
    this.template = template;
  }
}

/**
 * For the fields of `step.use` that go outside: `headers: { Authorization: secretText('Bearer {{secret.CRM_KEY}}') }`. In any other text,
 * `{{secret.CRM_KEY}}` is just these characters, since it may have come from data. Never put data into the template.
 */
export function secretText(template: string): SecretText {
  return new SecretText(template);
}

/** A configuration as step types take it: `secretFields` sealed, so that nothing but a SecretText brings a secret in. */
export function sealedConfig(config: { readonly [field: string]: unknown }, secretFields: readonly string[]): { [field: string]: Json } {
  const entries = Object.entries(config).map(([field, value]) => [field, secretFields.includes(field) ? sealed(value) : value]);
  return Object.fromEntries(entries) as { [field: string]: Json };
}

/** Configurations are written by hand, so they are shallow. */
function sealed(value: unknown): unknown {
  if (value instanceof SecretText) return value.template;
  if (typeof value === 'string') return seal(value);
  if (Array.isArray(value)) return value.map(sealed);
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, sealed(inner)]));
}
