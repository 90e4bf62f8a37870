import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { jsonSchemaPackage, openaiPackage } from '../../functions-packages.ts';
import { answerSchema } from './answer.ts';
import { embed } from './embedding.ts';
import { startDevModel, type DevModelServer } from './server.ts';

const { Validator } = jsonSchemaPackage();
const { OpenAI } = openaiPackage();

let model: DevModelServer;
beforeEach(async () => {
  model = await startDevModel();
});
afterEach(() => model.close());

function client(options: { readonly timeout?: number } = {}): InstanceType<typeof OpenAI> {
  return new OpenAI({ apiKey: 'dev', baseURL: model.url, maxRetries: 0, ...options });
}

const triage = {
  type: 'object',
  additionalProperties: false,
  required: ['kind', 'priority', 'summary', 'labels', 'confidence', 'amount', 'needsReply'],
  properties: {
    kind: { enum: ['bug', 'feature', 'question'] },
    priority: { type: 'string', enum: ['low', 'high'] },
    summary: { type: 'string', maxLength: 60 },
    labels: { type: 'array', items: { type: 'string', enum: ['docs', 'backend', 'billing'] }, minItems: 1, uniqueItems: true },
    confidence: { type: 'number', minimum: 0, maximum: 1 },
    amount: { type: 'integer' },
    needsReply: { type: 'boolean' },
  },
};

function ask(
  prompt: string,
  schema: object = triage,
): {
  model: string;
  messages: { role: 'user'; content: string }[];
  response_format: { type: 'json_schema'; json_schema: { name: string; schema: Record<string, unknown>; strict: boolean } };
} {
  return {
    model: 'kiln-dev-model',
    messages: [{ role: 'user', content: prompt }],
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: { ...schema }, strict: true } },
  };
}

describe('answers', () => {
  test('satisfy the schema and follow the prompt, the same way each time', async () => {
    const prompt = 'Urgent: the billing page is broken. It throws an exception for invoice 17.\nAmount: 1200 EUR. Please reply.';
    const first = await client().chat.completions.create(ask(prompt));
    const answer = JSON.parse(first.choices[0]?.message.content ?? '') as Record<string, unknown>;
    expect(new Validator(triage as never).validate(answer).errors).toEqual([]);
    expect(answer).toMatchObject({ kind: 'bug', priority: 'high', labels: ['billing'], amount: 1200, needsReply: true });
    const second = await client().chat.completions.create(ask(prompt));
    expect(second.choices[0]?.message.content).toBe(first.choices[0]?.message.content);
    const other = await client().chat.completions.create(ask('How do I change my password? I wonder where the button is.'));
    expect(JSON.parse(other.choices[0]?.message.content ?? '')).toMatchObject({ kind: 'question' });
  });

  test('say on every answer that they are the dev model’s, with usage numbers', async () => {
    const { data, response } = await client()
      .chat.completions.create({ model: 'gpt-5', messages: [{ role: 'user', content: 'Hello there.' }] })
      .withResponse();
    expect(response.headers.get('x-kiln-dev-model')).toBe('true');
    expect(data.model).toBe('kiln-dev-model');
    expect(data.choices[0]?.message.content).toBe('[dev model] Hello there.');
    expect(data.choices[0]?.finish_reason).toBe('stop');
    expect(data.usage?.prompt_tokens).toBe(3);
    expect(data.usage?.total_tokens).toBe((data.usage?.prompt_tokens ?? 0) + (data.usage?.completion_tokens ?? 0));
  });

  test('stream in pieces that add up to the whole answer', async () => {
    const prompt = 'The export fails with an error. Amount: 5.';
    const whole = await client().chat.completions.create(ask(prompt));
    const stream = await client().chat.completions.create({ ...ask(prompt), stream: true, stream_options: { include_usage: true } });
    let text = '';
    let pieces = 0;
    let total = 0;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      pieces += 1;
      total = chunk.usage?.total_tokens ?? total;
    }
    expect(text).toBe(whole.choices[0]?.message.content);
    expect(pieces).toBeGreaterThan(3);
    expect(total).toBe(whole.usage?.total_tokens);
  });

  test('satisfy nested, referenced, combined and self-containing schemas', () => {
    const schemas = [
      {
        type: 'object',
        required: ['tree'],
        properties: { tree: { $ref: '#/$defs/node' } },
        $defs: {
          node: {
            type: 'object',
            required: ['name', 'next'],
            properties: { name: { type: 'string' }, next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } },
          },
        },
      },
      {
        allOf: [
          { type: 'object', required: ['a'], properties: { a: { type: 'integer', minimum: 7, multipleOf: 5 } } },
          { properties: { b: { const: 'fixed' } }, required: ['b'] },
        ],
      },
      { type: 'array', minItems: 4, uniqueItems: true, items: { type: 'string', minLength: 30 } },
      {
        oneOf: [
          { type: 'object', required: ['refund'], properties: { refund: { type: 'number' } } },
          { type: 'object', required: ['order'], properties: { order: { type: 'string', pattern: '^[A-Z]{2,3}-\\d+$' } } },
        ],
      },
      {
        type: 'object',
        required: ['when', 'mail', 'link', 'id', 'day'],
        properties: {
          when: { type: 'string', format: 'date-time' },
          mail: { type: 'string', format: 'email' },
          link: { type: 'string', format: 'uri' },
          id: { type: 'string', format: 'uuid' },
          day: { type: 'string', format: 'date' },
        },
      },
      { type: ['integer', 'null'], exclusiveMinimum: 3, exclusiveMaximum: 5 },
    ];
    for (const schema of schemas) {
      const answer = answerSchema(
        schema,
        'Order AB-12 should ship to ann@example.org on 2026-12-24. See https://example.org/o/12 for the refund.',
      );
      expect(new Validator(schema as never).validate(answer)).toEqual({ valid: true, errors: [] });
    }
    expect(answerSchema(schemas[4], 'Write to ann@example.org on 2026-12-24.')).toMatchObject({
      mail: 'ann@example.org',
      day: '2026-12-24',
    });
  });

  test('satisfy generated schemas for any prompt', () => {
    const { schema } = fc.letrec<{ schema: object }>((tie) => ({
      schema: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom<object>({ type: 'string' }, { type: 'boolean' }, { type: 'null' }, { type: 'number' }),
        fc.record({ type: fc.constant('string'), minLength: fc.nat(40), maxLength: fc.integer({ min: 40, max: 90 }) }),
        fc
          .tuple(fc.integer({ min: -50, max: 50 }), fc.nat(50))
          .map(([minimum, span]) => ({ type: 'integer', minimum, maximum: minimum + span })),
        fc.record({ enum: fc.uniqueArray(fc.oneof(fc.string(), fc.integer()), { minLength: 1, maxLength: 5 }) }),
        fc.record({ type: fc.constant('array'), items: tie('schema'), minItems: fc.nat(4) }),
        fc
          .dictionary(fc.string(), tie('schema'), { maxKeys: 4 })
          .map((properties) => ({ type: 'object', properties, required: Object.keys(properties), additionalProperties: false })),
        fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
      ),
    }));
    fc.assert(
      fc.property(schema, fc.string({ unit: 'grapheme' }), (generated, prompt) => {
        const answer = answerSchema(generated, prompt);
        expect(new Validator(generated as never).validate(JSON.parse(JSON.stringify(answer))).valid).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

function near(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
}

describe('embeddings', () => {
  test('put similar texts near each other, in unit length and the wanted size', async () => {
    const input = ['How do I get a refund for an invoice?', 'Refunds of invoices are paid within a week', 'The kiln reaches 1200 degrees'];
    const answer = await client().embeddings.create({ model: 'kiln-dev-model', input, dimensions: 512 });
    const [question, refund, kiln] = answer.data.map((item) => item.embedding);
    if (question === undefined || refund === undefined || kiln === undefined) throw new Error('three vectors were asked for');
    expect(question).toHaveLength(512);
    expect(near(question, question)).toBeCloseTo(1, 5);
    expect(near(question, refund)).toBeGreaterThan(near(question, kiln) + 0.1);
    expect(answer.usage.total_tokens).toBeGreaterThan(0);
    const plain = await client().embeddings.create({ model: 'kiln-dev-model', input: 'x' });
    expect(plain.data[0]?.embedding).toHaveLength(256);
  });

  test('give a text without words a direction too', () => {
    expect(Math.hypot(...embed('…', 16))).toBe(1);
  });
});

async function faulty(kind: string) {
  return (await client().chat.completions.create(ask(`Some bug. [[fault:${kind}]]`))).choices[0];
}

describe('faults', () => {
  test('a marker in the prompt chooses the fault; with a count it passes afterwards', async () => {
    const prompt = 'Sort this out. [[fault:429*2]]';
    for (let call = 0; call < 2; call += 1) {
      const error = await client()
        .chat.completions.create(ask(prompt))
        .catch((caught: unknown) => caught);
      expect(error).toMatchObject({ status: 429 });
      expect((error as InstanceType<typeof OpenAI.APIError>).headers?.get('retry-after')).toBe('1');
    }
    const third = await client().chat.completions.create(ask(prompt));
    expect(third.choices[0]?.message.content).not.toContain('fault');
    await expect(client().chat.completions.create(ask('[[fault:500]]'))).rejects.toMatchObject({ status: 500 });
    expect(model.stats.faults).toEqual({ '429': 2, '500': 1 });
  });

  test('a header chooses the fault for one request', async () => {
    await expect(client().chat.completions.create(ask('fine'), { headers: { 'x-kiln-fault': '503' } })).rejects.toMatchObject({
      status: 503,
    });
    await expect(client().chat.completions.create(ask('fine'))).resolves.toBeDefined();
  });

  test('queued faults come in order, for requests that match', async () => {
    const control = await fetch(`${model.url.replace('/v1', '')}/__faults`, {
      method: 'POST',
      body: JSON.stringify({ faults: [{ kind: '429', retryAfterSeconds: 7, match: 'invoice' }, { kind: '401' }] }),
    });
    expect(control.status).toBe(200);
    await expect(client().chat.completions.create(ask('weather'))).rejects.toMatchObject({ status: 401 });
    const error = (await client()
      .chat.completions.create(ask('an invoice'))
      .catch((caught: unknown) => caught)) as InstanceType<typeof OpenAI.APIError>;
    expect(error.status).toBe(429);
    expect(error.headers?.get('retry-after')).toBe('7');
    await expect(client().chat.completions.create(ask('an invoice'))).resolves.toBeDefined();
    expect(() => model.faults.add({ kind: 'nonsense' })).toThrow('Unknown fault');
  });

  test('refusal, truncated, invalid and wrong-schema answers look as a real model’s do', async () => {
    expect(await faulty('refusal')).toMatchObject({ message: { content: null, refusal: expect.stringContaining('refuse') as string } });
    const truncated = await faulty('truncated');
    expect(truncated?.finish_reason).toBe('length');
    expect(() => JSON.parse(truncated?.message.content ?? '') as unknown).toThrow(SyntaxError);
    const invalid = await faulty('invalid-json');
    expect(invalid?.finish_reason).toBe('stop');
    expect(() => JSON.parse(invalid?.message.content ?? '') as unknown).toThrow(SyntaxError);
    const wrong = JSON.parse((await faulty('wrong-schema'))?.message.content ?? '') as unknown;
    expect(new Validator(triage as never).validate(wrong).valid).toBe(false);
  });

  test('a dropped call was received, and a hanging one ends with the caller’s patience', async () => {
    await expect(client().chat.completions.create(ask('[[fault:drop]]'))).rejects.toThrow(OpenAI.APIConnectionError);
    expect(model.requests).toHaveLength(1);
    await expect(client({ timeout: 50 }).chat.completions.create(ask('[[fault:timeout]]'))).rejects.toThrow(
      OpenAI.APIConnectionTimeoutError,
    );
    await vi.waitFor(() => expect(model.stats.inFlight).toBe(0), { timeout: 10_000 });
  });

  test('calls in flight are counted', async () => {
    const slow = await startDevModel({ latencyMs: 30 });
    const many = new OpenAI({ apiKey: 'dev', baseURL: slow.url, maxRetries: 0 });
    await Promise.all(Array.from({ length: 8 }, (_, index) => many.chat.completions.create(ask(`call ${index}`))));
    const stats = (await (await fetch(`${slow.url.replace('/v1', '')}/__stats`)).json()) as {
      calls: number;
      maxInFlight: number;
      inFlight: number;
    };
    expect(stats).toMatchObject({ calls: 8, inFlight: 0 });
    expect(stats.maxInFlight).toBeGreaterThan(1);
    await slow.close();
  });
});
