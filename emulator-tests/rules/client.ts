/** A signed-in person's view of the Firestore emulator over REST: small, fast, and without the client SDK's own opinions. */

export type Field = null | boolean | number | string | readonly Field[] | { readonly [name: string]: Field };
export type Doc = { readonly [name: string]: Field };

/** Stands where a client SDK's `serverTimestamp()` would. */
export const SERVER_TIME = '$server-time';
/** So many ms from the moment of sending; the same moment for a whole document. */
export function fromNow(ms: number): Field {
  return { $fromNow: ms };
}
/** A literal timestamp, as a forger would send it. */
export function literalTime(ms: number): Field {
  return { $timestamp: new Date(ms).toISOString() };
}

export interface ListQuery {
  readonly limit?: number;
  readonly where?: readonly (readonly [field: string, value: string])[];
  /** Every collection of the id, wherever it lies. */
  readonly group?: boolean;
}

export type Request =
  | { readonly verb: 'get'; readonly path: string }
  | { readonly verb: 'list'; readonly path: string; readonly query: ListQuery }
  | { readonly verb: 'create'; readonly path: string; readonly doc: Doc }
  | { readonly verb: 'update'; readonly path: string; readonly doc: Doc }
  | { readonly verb: 'delete'; readonly path: string };

/** Administrators pass the rules. */
export const OWNER = 'owner';

export class RulesClient {
  readonly #host: string;
  readonly #project: string;

  constructor(host: string, project: string) {
    this.#host = host;
    this.#project = project;
  }

  /** True when the rules allowed it. Anything but an answer of the rules is an error of the test. */
  async allows(uid: string | null, request: Request): Promise<boolean> {
    const response = await this.#send(uid, request);
    const body = await response.text();
    if (response.status === 403) return false;
    if (response.ok || (request.verb === 'get' && response.status === 404)) return true;
    throw new Error(`${request.verb} ${request.path}: ${response.status} ${body.slice(0, 300)}`);
  }

  /** The same; a creation that was allowed is taken back, so that no case leans on another. */
  async answer(uid: string | null, request: Request): Promise<boolean> {
    const allowed = await this.allows(uid, request);
    if (allowed && request.verb === 'create') await this.remove(request.path);
    return allowed;
  }

  /** Writes as an administrator. */
  async set(path: string, doc: Doc): Promise<void> {
    await this.#expectOk(await this.#commit(OWNER, [this.#write(path, doc, undefined)]));
  }

  async remove(path: string): Promise<void> {
    await this.#expectOk(await this.#commit(OWNER, [{ delete: this.#name(path) }]));
  }

  async loadRules(source: string): Promise<void> {
    const body = { rules: { files: [{ name: 'firestore.rules', content: source }] } };
    const response = await fetch(`http://${this.#host}/emulator/v1/projects/${this.#project}:securityRules`, {
      method: 'PUT',
      body: JSON.stringify(body),
    });
    await this.#expectOk(response);
  }

  async coverage(): Promise<unknown> {
    const response = await fetch(`http://${this.#host}/emulator/v1/projects/${this.#project}:ruleCoverage`);
    await this.#expectOk(response.clone());
    return response.json();
  }

  async #send(uid: string | null, request: Request): Promise<Response> {
    switch (request.verb) {
      case 'get':
        return fetch(`${this.#documents()}/${encodePath(request.path)}`, { headers: headersOf(uid) });
      case 'list':
        return this.#list(uid, request.path, request.query);
      case 'create':
        return this.#commit(uid, [this.#write(request.path, request.doc, { exists: false })]);
      case 'update':
        return this.#commit(uid, [
          { ...this.#write(request.path, request.doc, { exists: true }), updateMask: { fieldPaths: Object.keys(request.doc) } },
        ]);
      case 'delete':
        return this.#commit(uid, [{ delete: this.#name(request.path) }]);
    }
  }

  async #list(uid: string | null, path: string, { limit, where, group }: ListQuery): Promise<Response> {
    const parts = path.split('/');
    const collectionId = parts.at(-1);
    const parent = parts.slice(0, -1).join('/');
    const filters = (where ?? []).map(([fieldPath, value]) => ({
      fieldFilter: { field: { fieldPath }, op: 'EQUAL', value: { stringValue: value } },
    }));
    const structuredQuery = {
      from: [{ collectionId, allDescendants: group === true }],
      ...(filters.length === 0 ? {} : { where: { compositeFilter: { op: 'AND', filters } } }),
      ...(limit === undefined ? {} : { limit }),
    };
    const url = parent === '' ? `${this.#documents()}:runQuery` : `${this.#documents()}/${encodePath(parent)}:runQuery`;
    return fetch(url, { method: 'POST', headers: headersOf(uid), body: JSON.stringify({ structuredQuery }) });
  }

  #commit(uid: string | null, writes: readonly object[]): Promise<Response> {
    return fetch(`${this.#documents()}:commit`, { method: 'POST', headers: headersOf(uid), body: JSON.stringify({ writes }) });
  }

  #write(path: string, doc: Doc, currentDocument: object | undefined): object {
    const now = Date.now();
    const stamped = Object.entries(doc).filter(([, value]) => value === SERVER_TIME);
    const fields = Object.fromEntries(
      Object.entries(doc).flatMap(([name, value]) => (value === SERVER_TIME ? [] : [[name, encode(value, now)]])),
    );
    const transforms = stamped.map(([fieldPath]) => ({ fieldPath, setToServerValue: 'REQUEST_TIME' }));
    return {
      update: { name: this.#name(path), fields },
      ...(transforms.length === 0 ? {} : { updateTransforms: transforms }),
      ...(currentDocument === undefined ? {} : { currentDocument }),
    };
  }

  #name(path: string): string {
    return `projects/${this.#project}/databases/(default)/documents/${path}`;
  }

  #documents(): string {
    return `http://${this.#host}/v1/projects/${this.#project}/databases/(default)/documents`;
  }

  async #expectOk(response: Response): Promise<void> {
    if (!response.ok) throw new Error(`the emulator answered ${response.status}: ${(await response.text()).slice(0, 2_000)}`);
  }
}

function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

/** The emulator takes unsigned tokens. */
function headersOf(uid: string | null): Record<string, string> {
  if (uid === null) return {};
  if (uid === OWNER) return { authorization: 'Bearer owner' };
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const now = Math.floor(Date.now() / 1_000);
  const claims = {
    sub: uid,
    user_id: uid,
    aud: 'demo',
    iss: 'https://securetoken.google.com/demo',
    iat: now,
    exp: now + 3_600,
    firebase: { sign_in_provider: 'password', identities: {} },
  };
  return { authorization: `Bearer ${part({ alg: 'none', typ: 'JWT' })}.${part(claims)}.` };
}

function encode(value: Field, now: number): object {
  if (value === null) return { nullValue: null };
  if (typeof value === 'boolean') return { booleanValue: value };
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'number') return Number.isInteger(value) ? { integerValue: String(value) } : { doubleValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: (value as readonly Field[]).map((inner) => encode(inner, now)) } };
  const map = value as { readonly [name: string]: Field };
  if (typeof map['$timestamp'] === 'string') return { timestampValue: map['$timestamp'] };
  if (typeof map['$fromNow'] === 'number') return { integerValue: String(now + map['$fromNow']) };
  return { mapValue: { fields: Object.fromEntries(Object.entries(map).map(([name, inner]) => [name, encode(inner, now)])) } };
}
