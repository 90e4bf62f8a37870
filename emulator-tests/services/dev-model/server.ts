import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { asArray, asNumber, asObject, asString, parseJson, type JsonObject } from '../json-fields.ts';
import { cutConnection, sendJson, startLocalServer, type LocalRequest } from '../local-server.ts';
import { ScriptedFaults } from '../scripted-faults.ts';
import { answerSchema, answerText } from './answer.ts';
import { embed } from './embedding.ts';
import { FaultChooser, modelFaultKinds, type ModelFault } from './faults.ts';

export const devModelName = 'kiln-dev-model';

export interface DevModelStats {
  calls: number;
  chatCalls: number;
  embeddingCalls: number;
  inFlight: number;
  maxInFlight: number;
  /** Calls that met a fault, by kind. */
  readonly faults: Record<string, number>;
}

export interface DevModelServer {
  readonly port: number;
  /** With `/v1`, the value of OPENAI_BASE_URL. */
  readonly url: string;
  readonly faults: ScriptedFaults;
  readonly stats: DevModelStats;
  /** The last chat requests, newest last, at most 200. */
  readonly requests: readonly JsonObject[];
  reset(): void;
  close(): Promise<void>;
}

export interface DevModelOptions {
  readonly port?: number;
  /** How long an answer takes; makes overlapping calls visible. */
  readonly latencyMs?: number;
}

/** On every answer, so that nobody takes it for a model's opinion. */
const mark = { 'x-kiln-dev-model': 'true' };
const keptRequests = 200;

function sendError(response: ServerResponse, status: number, type: string, message: string, headers: Record<string, string> = {}): void {
  sendJson(response, status, { error: { message, type, param: null, code: null } }, { ...mark, ...headers });
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return asArray(content)
    .map((part) => asString(asObject(part)?.['text']) ?? '')
    .join('\n');
}

/** What the answer is about: what the user said. Instructions of the system count only where nobody else spoke. */
function promptOf(body: JsonObject): { readonly all: string; readonly subject: string } {
  const messages = asArray(body['messages']).map((message) => asObject(message) ?? {});
  const said = (role: string): string =>
    messages
      .filter((message) => message['role'] === role)
      .map((message) => textOf(message['content']))
      .join('\n');
  const user = said('user');
  return {
    all: messages.map((message) => textOf(message['content'])).join('\n'),
    subject: user === '' ? `${said('system')}${said('developer')}` : user,
  };
}

function tokens(text: string): number {
  return Math.ceil(text.length / 4);
}

interface Completion {
  readonly content: string | null;
  readonly refusal: string | null;
  readonly finish: 'stop' | 'length';
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number; readonly total_tokens: number };
}

function complete(body: JsonObject, fault: ModelFault | undefined): Completion {
  const prompt = promptOf(body);
  const format = asObject(body['response_format']);
  const schema = asObject(asObject(format?.['json_schema'])?.['schema']);
  let content: string | null;
  if (schema !== undefined) content = JSON.stringify(answerSchema(schema, prompt.subject));
  else if (format?.['type'] === 'json_object') content = JSON.stringify({ answer: answerText(prompt.subject) });
  else content = answerText(prompt.subject);
  let refusal: string | null = null;
  if (fault?.kind === 'refusal') {
    content = null;
    refusal = 'The dev model was told to refuse this request.';
  }
  if (fault?.kind === 'truncated') content = (content ?? '').slice(0, Math.max(1, Math.floor((content ?? '').length / 2)));
  if (fault?.kind === 'invalid-json') content = `Sure! Here is the JSON you asked for: {"answer": ${content ?? ''}`;
  if (fault?.kind === 'wrong-schema') content = JSON.stringify({ unexpected: [null] });
  const prompted = tokens(prompt.all);
  const completed = tokens(content ?? refusal ?? '');
  return {
    content,
    refusal,
    finish: fault?.kind === 'truncated' ? 'length' : 'stop',
    usage: { prompt_tokens: prompted, completion_tokens: completed, total_tokens: prompted + completed },
  };
}

function sendCompletion(response: ServerResponse, body: JsonObject, answer: Completion): void {
  const id = `chatcmpl-dev-${createHash('sha256').update(JSON.stringify(body)).digest('hex').slice(0, 24)}`;
  const base = { id, created: Math.floor(Date.now() / 1000), model: devModelName };
  if (body['stream'] !== true) {
    const message = { role: 'assistant', content: answer.content, refusal: answer.refusal };
    const choice = { index: 0, message, finish_reason: answer.finish, logprobs: null };
    return sendJson(response, 200, { ...base, object: 'chat.completion', choices: [choice], usage: answer.usage }, mark);
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', ...mark });
  const chunk = (fields: object): void => {
    response.write(`data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', ...fields })}\n\n`);
  };
  const delta = (value: object, finish: string | null = null): void =>
    chunk({ choices: [{ index: 0, delta: value, finish_reason: finish }] });
  delta({ role: 'assistant', content: '' });
  if (answer.refusal !== null) delta({ refusal: answer.refusal });
  for (const piece of (answer.content ?? '').match(/\s*\S+|\s+$/gu) ?? []) delta({ content: piece });
  delta({}, answer.finish);
  if (asObject(body['stream_options'])?.['include_usage'] === true) chunk({ choices: [], usage: answer.usage });
  response.end('data: [DONE]\n\n');
}

function sendEmbeddings(response: ServerResponse, body: JsonObject): void {
  const dimensions = asNumber(body['dimensions']) ?? 256;
  if (!Number.isInteger(dimensions) || dimensions < 1 || dimensions > 4096) {
    return sendError(response, 400, 'invalid_request_error', 'dimensions is a whole number from 1 to 4096.');
  }
  const inputs = (Array.isArray(body['input']) ? body['input'] : [body['input']]).map((input) => String(input));
  const data = inputs.map((input, index) => {
    const vector = embed(input, dimensions);
    // The client library asks for base64 unless told otherwise.
    const embedding = body['encoding_format'] === 'base64' ? Buffer.from(Float32Array.from(vector).buffer).toString('base64') : vector;
    return { object: 'embedding', index, embedding };
  });
  const prompted = inputs.reduce((sum, input) => sum + tokens(input), 0);
  sendJson(response, 200, { object: 'list', data, model: devModelName, usage: { prompt_tokens: prompted, total_tokens: prompted } }, mark);
}

function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Answers a fault that needs no completion. Returns false where the completion itself is what is wrong. */
async function failed(fault: ModelFault, request: LocalRequest, response: ServerResponse): Promise<boolean> {
  switch (fault.kind) {
    case '400':
      sendError(response, 400, 'invalid_request_error', 'Injected: the request is not acceptable.');
      return true;
    case '401':
      sendError(response, 401, 'authentication_error', 'Injected: the API key is not valid.');
      return true;
    case '429':
      sendError(response, 429, 'rate_limit_exceeded', 'Injected: too many requests.', { 'retry-after': String(fault.retryAfterSeconds) });
      return true;
    case '500':
      sendError(response, 500, 'server_error', 'Injected: the server had an error.');
      return true;
    case '503':
      sendError(response, 503, 'server_error', 'Injected: overloaded.');
      return true;
    case 'drop':
      cutConnection(response);
      return true;
    case 'timeout':
      // Until the caller gives up or the server closes.
      await new Promise<void>((resolve) => {
        if (request.signal.aborted) resolve();
        request.signal.addEventListener('abort', () => resolve());
      });
      cutConnection(response);
      return true;
    case 'slow':
      await delay(1_000, request.signal);
      return false;
    case 'refusal':
    case 'truncated':
    case 'invalid-json':
    case 'wrong-schema':
      return false;
  }
}

/** An OpenAI-compatible server whose answers are derived from the prompt, always the same way. It is no model, and says so. */
export async function startDevModel(options: DevModelOptions = {}): Promise<DevModelServer> {
  const faults = new ScriptedFaults(modelFaultKinds);
  let chooser = new FaultChooser(faults);
  const stats: DevModelStats = { calls: 0, chatCalls: 0, embeddingCalls: 0, inFlight: 0, maxInFlight: 0, faults: {} };
  const requests: JsonObject[] = [];
  const reset = (): void => {
    faults.clear();
    chooser = new FaultChooser(faults);
    requests.length = 0;
    Object.assign(stats, { calls: 0, chatCalls: 0, embeddingCalls: 0, maxInFlight: stats.inFlight });
    for (const kind of Object.keys(stats.faults)) delete stats.faults[kind];
  };

  const onCall = async (request: LocalRequest, response: ServerResponse, body: JsonObject, isChat: boolean): Promise<void> => {
    stats[isChat ? 'chatCalls' : 'embeddingCalls'] += 1;
    if (isChat) requests.push(body);
    if (requests.length > keptRequests) requests.shift();
    const prompt = isChat ? promptOf(body).all : JSON.stringify(body['input'] ?? '');
    const header = request.headers['x-kiln-fault'];
    const fault = chooser.choose(typeof header === 'string' ? header : undefined, prompt);
    if (fault !== undefined) stats.faults[fault.kind] = (stats.faults[fault.kind] ?? 0) + 1;
    if (options.latencyMs !== undefined) await delay(options.latencyMs, request.signal);
    if (fault !== undefined && (await failed(fault, request, response))) return;
    if (response.destroyed) return;
    if (isChat) sendCompletion(response, body, complete(body, fault));
    else sendEmbeddings(response, body);
  };

  const onControl = (request: LocalRequest, response: ServerResponse): void => {
    switch (`${request.method} ${request.path}`) {
      case 'GET /__stats':
        return sendJson(response, 200, stats);
      case 'GET /__requests':
        return sendJson(response, 200, { requests });
      case 'POST /__faults':
        faults.addFrom(parseJson(request.body.toString('utf8')));
        return sendJson(response, 200, { pending: faults.pending });
      case 'DELETE /__faults':
        faults.clear();
        return sendJson(response, 200, { pending: [] });
      case 'POST /__reset':
        reset();
        return sendJson(response, 200, {});
      default:
        return sendError(response, 404, 'invalid_request_error', `The dev model does not know ${request.method} ${request.path}.`);
    }
  };

  const handle = async (request: LocalRequest, response: ServerResponse): Promise<void> => {
    if (request.path.startsWith('/__')) return onControl(request, response);
    const path = request.path.replace(/^\/v1(?=\/)/, '');
    if (request.method === 'GET' && path === '/models')
      return sendJson(response, 200, { object: 'list', data: [{ id: devModelName, object: 'model', owned_by: 'kiln' }] }, mark);
    if (request.method !== 'POST' || (path !== '/chat/completions' && path !== '/embeddings')) return onControl(request, response);
    const body = asObject(parseJson(request.body.toString('utf8')));
    if (body === undefined) return sendError(response, 400, 'invalid_request_error', 'The body is not a JSON object.');
    stats.calls += 1;
    stats.inFlight += 1;
    stats.maxInFlight = Math.max(stats.maxInFlight, stats.inFlight);
    try {
      await onCall(request, response, body, path === '/chat/completions');
    } finally {
      stats.inFlight -= 1;
    }
  };

  const server = await startLocalServer({ ...(options.port === undefined ? {} : { port: options.port }), handle });
  return { port: server.port, url: `${server.url}/v1`, faults, stats, requests, reset, close: server.close };
}
