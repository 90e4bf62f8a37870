import { timingSafeEqual } from 'node:crypto';
import { digest } from '../engine/json.ts';
import type { Runtime } from '../runner/runtime.ts';
import { renderMetrics } from '../telemetry/prometheus.ts';

export interface MetricsAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
}

const problem = (status: number, code: string, message: string): MetricsAnswer => ({
  status,
  contentType: 'application/json; charset=utf-8',
  text: JSON.stringify({ error: { code, message } }),
});

/**
 * `GET /metrics` with `Authorization: Bearer <KILN_METRICS_TOKEN>`. It shows figures of every account of the deployment, so it is
 * closed until a token is set.
 */
export async function answerMetrics(
  runtime: Runtime,
  authorization: string | undefined,
  token: string | undefined,
): Promise<MetricsAnswer> {
  if (token === undefined) return problem(404, 'request.invalid', 'nothing is here; set KILN_METRICS_TOKEN to open it');
  if (!matches(authorization, `Bearer ${token}`)) return problem(401, 'auth.required', 'send the metrics token as a bearer token');
  const { contentType, text } = await renderMetrics(runtime.store, runtime.clock.now());
  return { status: 200, contentType, text };
}

/** Takes the same time whatever is sent: of digests, which have one length. */
function matches(given: string | undefined, wanted: string): boolean {
  return timingSafeEqual(Buffer.from(digest(given ?? '')), Buffer.from(digest(wanted)));
}
