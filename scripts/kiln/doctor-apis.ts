import { asArray, asObject, asString, objectsIn, parseJson } from '../json-objects.ts';
import type { JsonObject } from '../json-objects.ts';

export interface ApiAnswer {
  readonly status: number;
  readonly body: JsonObject;
}

/** Google's REST APIs, as a person who is signed in sees them. The only way in which the command line looks at a project. */
export interface GoogleApis {
  get(url: string): Promise<ApiAnswer>;
  /** The doctor posts only what reads, such as `:getIamPolicy`. */
  post(url: string, body: JsonObject): Promise<ApiAnswer>;
}

/** @param token an OAuth access token, such as `gcloud auth print-access-token` prints */
export function googleApis(token: string, quotaProject: string, fetcher: typeof fetch = fetch): GoogleApis {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', 'X-Goog-User-Project': quotaProject };
  const answer = async (response: Response): Promise<ApiAnswer> => ({
    status: response.status,
    body: asObject(parseJson(await response.text())) ?? {},
  });
  return {
    get: async (url) => answer(await fetcher(url, { headers })),
    post: async (url, body) => answer(await fetcher(url, { method: 'POST', headers, body: JSON.stringify(body) })),
  };
}

/** The name of the service when the answer says that its API is off in the project. */
export function disabledApi({ status, body }: ApiAnswer): string | undefined {
  if (status !== 403) return undefined;
  for (const detail of asArray(asObject(body['error'])?.['details'])) {
    const found = asObject(detail);
    if (found?.['reason'] === 'SERVICE_DISABLED') return asString(asObject(found['metadata'])?.['service']);
  }
  return undefined;
}

/** All pages of a list. The first answer that is no success ends it, and is returned in its place. */
export async function listAll(
  apis: GoogleApis,
  url: string,
  field: string,
): Promise<{ items: readonly JsonObject[] } | { refused: ApiAnswer }> {
  const items: JsonObject[] = [];
  let page: string | undefined;
  do {
    const address = page === undefined ? url : `${url}${url.includes('?') ? '&' : '?'}pageToken=${encodeURIComponent(page)}`;
    const answer = await apis.get(address);
    if (answer.status !== 200) return { refused: answer };
    items.push(...objectsIn(answer.body[field]));
    page = asString(answer.body['nextPageToken']);
    if (page === '') page = undefined;
  } while (page !== undefined);
  return { items };
}
