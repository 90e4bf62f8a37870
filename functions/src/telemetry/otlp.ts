import type * as Api from '@opentelemetry/api';
import type { SpanData } from './spans.ts';
import type { SpanSink } from './traced-store.ts';

const SEND_WITHIN_MS = 5_000;

export interface OtlpConfig {
  /** The collector's address, without `/v1/traces`. */
  readonly endpoint: string;
  readonly serviceName: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Spans over OTLP/HTTP in JSON. The telemetry packages are loaded with the first span: without an endpoint, never. */
export function otlpSink(config: OtlpConfig): SpanSink {
  let exporting: Promise<Exporting> | undefined;
  return {
    async send(spans) {
      exporting ??= load(config);
      const exporter = await exporting;
      for (const span of spans) exporter.record(span);
      await exporter.flush();
    },
  };
}

interface Exporting {
  record(span: SpanData): void;
  flush(): Promise<void>;
}

async function load({ endpoint, serviceName, headers }: OtlpConfig): Promise<Exporting> {
  const [api, sdk, otlp, resources] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/resources'),
  ]);
  const exporter = new otlp.OTLPTraceExporter({
    url: `${endpoint.replace(/\/$/, '')}/v1/traces`,
    timeoutMillis: SEND_WITHIN_MS,
    ...(headers === undefined ? {} : { headers: { ...headers } }),
  });
  // The ids follow from the documents, so that spans made by different instances fit together.
  let next: { traceId: string; spanId: string } = { traceId: '', spanId: '' };
  const provider = new sdk.TracerProvider({
    resource: resources.resourceFromAttributes({ 'service.name': serviceName }),
    idGenerator: { generateTraceId: () => next.traceId, generateSpanId: () => next.spanId },
    sampler: new sdk.AlwaysOnSampler(),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter, scheduledDelayMillis: 60_000, maxExportBatchSize: 512 })],
  });
  const tracer = provider.getTracer('kiln');
  return {
    record(span) {
      next = span;
      const made = tracer.startSpan(
        span.name,
        {
          kind: span.kind === 'client' ? api.SpanKind.CLIENT : api.SpanKind.INTERNAL,
          startTime: span.startMs,
          attributes: attributesOf(span),
        },
        parentOf(api, span),
      );
      if (span.error !== undefined) {
        made.setStatus({ code: api.SpanStatusCode.ERROR, message: span.error.message });
        made.recordException({ name: span.error.code, message: span.error.message }, span.endMs);
      }
      made.end(Math.max(span.startMs, span.endMs));
    },
    flush: () => provider.forceFlush({ timeoutMillis: SEND_WITHIN_MS }),
  };
}

function parentOf(api: typeof Api, { traceId, parentSpanId }: SpanData): Api.Context {
  if (parentSpanId === undefined) return api.ROOT_CONTEXT;
  return api.trace.setSpanContext(api.ROOT_CONTEXT, { traceId, spanId: parentSpanId, traceFlags: api.TraceFlags.SAMPLED, isRemote: true });
}

function attributesOf({ attributes, error }: SpanData): Api.Attributes {
  const all: Api.Attributes = {};
  for (const [name, value] of Object.entries(attributes)) all[name] = typeof value === 'object' ? [...value] : value;
  return error === undefined ? all : { ...all, 'error.type': error.code };
}
