import type { RunRef } from '@model/paths.ts';
import type { Payload } from '@model/payload.ts';
import type { RunRecord } from '@model/run.ts';
import type { StepRecord } from '@model/step.ts';
import { payloadText } from '../data/payload.ts';

async function valueOf(run: RunRef, payload: Payload | undefined): Promise<unknown> {
  return payload === undefined ? undefined : (JSON.parse(await payloadText(run, payload)) as unknown);
}

/** The record with its payloads as values, for a ticket or a test. */
export async function runAsJson(run: RunRecord): Promise<string> {
  const { due: _due, expiresAt: _expiresAt, ...facts } = run;
  return JSON.stringify({ ...facts, input: await valueOf(run, run.input), output: await valueOf(run, run.output) }, null, 2);
}

export async function stepAsJson(step: StepRecord): Promise<string> {
  const { due: _due, baton: _baton, lease: _lease, expiresAt: _expiresAt, ...facts } = step;
  const details: unknown = step.details === undefined ? undefined : JSON.parse(step.details);
  return JSON.stringify({ ...facts, details, input: await valueOf(step, step.input), output: await valueOf(step, step.output) }, null, 2);
}
