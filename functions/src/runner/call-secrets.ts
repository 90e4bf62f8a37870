import { canonicalJson, parseJson } from '../engine/json.ts';
import type { Json } from '../engine/json.ts';
import { resolveSecrets } from '../engine/templates.ts';
import { KilnError } from '../model/errors.ts';
import type { ErrorRecord } from '../model/errors.ts';
import type { StepCommon } from '../model/definition.ts';
import { MIN_REDACTED_LENGTH, Redactor, requireSecret } from '../services/secrets.ts';
import type { SecretSource } from '../services/secrets.ts';
import type { AnyStepType, SecretFiller } from '../steps/step-type.ts';

/** The secrets of one attempt: filled in at the last moment, and taken out of everything that the attempt leaves behind. */
export class CallSecrets implements SecretFiller {
  readonly #source: SecretSource | undefined;
  readonly #used = new Map<string, string>();
  #redactor: Redactor | undefined;

  constructor(source: SecretSource | undefined) {
    this.#source = source;
  }

  fillIn<T extends Json>(value: T): T {
    // Only texts change, so the value keeps its shape.
    return resolveSecrets(value, (name) => this.#value(name)) as T;
  }

  /** The configuration and inputs with secrets in the fields where the type allows them. The result is never stored. */
  fillFields(
    type: Pick<AnyStepType, 'secretFields'>,
    config: object & StepCommon,
    input: Json,
  ): { readonly config: object & StepCommon; readonly input: Json } {
    const fields = type.secretFields ?? [];
    if (fields.length === 0) return { config, input };
    const filled = Object.entries(config).flatMap(([field, value]: [string, unknown]) =>
      field !== 'inputs' && fields.includes(field) && value !== undefined ? [[field, this.fillIn(value as Json)] as const] : [],
    );
    return { config: { ...config, ...Object.fromEntries(filled) }, input: fields.includes('inputs') ? this.fillIn(input) : input };
  }

  /** A text without the secrets. */
  plain(text: string): string {
    return this.#used.size === 0 ? text : this.#redactorNow().redactText(text);
  }

  /** Canonical JSON of a value without the secrets. */
  text(value: unknown): string {
    const text = canonicalJson(value);
    return this.#used.size === 0 ? text : canonicalJson(this.#redactorNow().redact(parseJson(text)));
  }

  error(record: ErrorRecord): ErrorRecord {
    if (this.#used.size === 0) return record;
    const redactor = this.#redactorNow();
    const { data, ...rest } = record;
    const clean = { ...rest, code: redactor.redactText(rest.code), message: redactor.redactText(rest.message) };
    return data === undefined ? clean : { ...clean, data: parseJson(this.text(data)) };
  }

  #redactorNow(): Redactor {
    this.#redactor ??= new Redactor([...this.#used].map(([name, value]) => ({ name, value })));
    return this.#redactor;
  }

  #value(name: string): string {
    if (this.#source === undefined) throw new KilnError('secret.missing', `The secret ${name} is not configured.`);
    const value = requireSecret(this.#source, name);
    const fault = weakness(name, value);
    if (fault !== undefined) throw new KilnError('secret.too_short', fault);
    this.#used.set(name, value);
    this.#redactor = undefined;
    return value;
  }
}

/** Why a secret cannot be used: what cannot be told from ordinary text cannot be kept out of the run's history. */
export function weakness(name: string, value: string): string | undefined {
  return value.length < MIN_REDACTED_LENGTH
    ? `The secret ${name} is shorter than ${MIN_REDACTED_LENGTH} characters, so it could not be kept out of what is stored.`
    : undefined;
}
