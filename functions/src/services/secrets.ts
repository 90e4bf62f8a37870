import { type Json, setOwn } from '../engine/json.ts';
import { KilnError } from '../model/errors.ts';

/** Where secret values come from at the moment a call is made. */
export interface SecretSource {
  get(name: string): string | undefined;
}

/** A secret that a step resolved for its call, as redaction needs it. */
export interface Secret {
  readonly name: string;
  readonly value: string;
}

const namePattern = /^[A-Z][A-Z0-9_]{0,127}$/;

/** A shorter value would hit innocent text everywhere; such a secret cannot be redacted, which `Redactor.unprotected` reports. */
export const MIN_REDACTED_LENGTH = 6;

/** Parameters and Secret Manager values arrive as environment variables in Functions. `names` is what the deployment declares: nothing else of the environment is reachable from a definition. */
export function environmentSecrets(environment: Readonly<Record<string, string | undefined>>, names: readonly string[]): SecretSource {
  const declared = new Set(names);
  return {
    get(name) {
      if (!namePattern.test(name) || !declared.has(name)) return undefined;
      const value = environment[name];
      return value === '' ? undefined : value;
    },
  };
}

/** The secret's value, or `secret.missing`. */
export function requireSecret(source: SecretSource, name: string): string {
  const value = source.get(name);
  if (value === undefined) throw new KilnError('secret.missing', `The secret ${name} is not configured.`);
  return value;
}

/**
 * Removes secret values from what is stored, logged or shown: as they are, and in the forms in which a remote service
 * or a library hands them back (JSON, HTML, URL, base64 and hex encoded; base64 also when the secret is only part of
 * what was encoded, as in Basic credentials).
 */
export class Redactor {
  /** Names of secrets that are too short to be redacted. */
  readonly unprotected: readonly string[];
  readonly #pattern: RegExp | undefined;
  readonly #names: ReadonlyMap<string, string>;

  constructor(secrets: readonly Secret[]) {
    this.unprotected = secrets.filter(({ value }) => value.length < MIN_REDACTED_LENGTH).map(({ name }) => name);
    const forms = new Map<string, string>();
    for (const { name, value } of secrets) {
      if (value.length < MIN_REDACTED_LENGTH) continue;
      for (const form of formsOf(value)) forms.set(form, name);
    }
    this.#names = forms;
    // Longest first, so that no form is found inside a longer one and leaves its rest behind.
    const alternatives = [...forms.keys()].sort((a, b) => b.length - a.length).map((form) => form.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
    this.#pattern = alternatives.length === 0 ? undefined : new RegExp(alternatives.join('|'), 'g');
  }

  redactText(text: string): string {
    if (this.#pattern === undefined) return text;
    return text.replace(this.#pattern, (found) => `[secret ${this.#names.get(found) ?? ''}]`);
  }

  /** A copy without secrets, in values and in keys. Walks without recursion: the value may come from outside. */
  redact(value: Json): Json {
    if (this.#pattern === undefined) return value;
    let root: Json = null;
    const pending: { readonly value: Json; readonly put: (copy: Json) => void }[] = [{ value, put: (copy) => (root = copy) }];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const { value: current, put } = next;
      if (typeof current === 'string') put(this.redactText(current));
      else if (typeof current !== 'object' || current === null) put(current);
      else if (Array.isArray(current)) {
        const copy: Json[] = new Array<Json>(current.length).fill(null);
        put(copy);
        current.forEach((member, index) => pending.push({ value: member, put: (done) => (copy[index] = done) }));
      } else {
        const copy: { [key: string]: Json } = {};
        put(copy);
        for (const [key, member] of Object.entries(current)) {
          const safeKey = freeKey(copy, this.redactText(key));
          setOwn(copy, safeKey, null);
          pending.push({ value: member, put: (done) => setOwn(copy, safeKey, done) });
        }
      }
    }
    return root;
  }
}

/** Two keys may become the same by redaction; neither value is lost. */
function freeKey(target: object, key: string): string {
  let candidate = key;
  for (let count = 2; Object.hasOwn(target, candidate); count += 1) candidate = `${key} (${count})`;
  return candidate;
}

function formsOf(value: string): Set<string> {
  const bytes = Buffer.from(value, 'utf8');
  const forms = new Set<string>([value, bytes.toString('hex'), bytes.toString('hex').toUpperCase()]);
  const json = JSON.stringify(value).slice(1, -1);
  for (const form of [json, json.replaceAll('/', '\\/'), asciiJson(json), html(value)]) forms.add(form);
  const encoded = [...base64Forms(bytes), value];
  for (const form of encoded) {
    forms.add(form);
    for (const url of urlForms(form)) forms.add(url);
  }
  return forms;
}

/**
 * Base64 of the secret, and the characters that stand for it wherever it begins inside a longer encoded text: three
 * alignments, without the outer characters that it shares with its neighbours.
 */
function base64Forms(bytes: Buffer): string[] {
  const forms: string[] = [bytes.toString('base64'), bytes.toString('base64').replace(/=+$/, '')];
  for (const offset of [0, 1, 2]) {
    const padded = Buffer.concat([Buffer.alloc(offset), bytes]);
    const full = padded.toString('base64').replace(/=+$/, '');
    const first = Math.ceil((offset * 8) / 6);
    const last = Math.floor((padded.length * 8) / 6);
    forms.push(full.slice(first, last));
  }
  return forms.flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')]);
}

function urlForms(text: string): string[] {
  const component = encodeURIComponent(text.toWellFormed());
  const form = new URLSearchParams({ v: text }).toString().slice(2);
  // As node:querystring, PHP and others do: everything but letters, digits and -._~
  const strict = component.replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  const upper = [component, form, strict, encodeURI(text.toWellFormed())];
  return [...upper, ...upper.map((item) => item.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()))];
}

function asciiJson(json: string): string {
  return json.replace(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function html(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;');
}
