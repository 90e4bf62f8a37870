import type { IncomingMessage, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type * as AdminFirestore from '../functions/node_modules/firebase-admin/lib/firestore/index.d.ts';
import type * as TasksPackage from '../functions/node_modules/@google-cloud/tasks/build/cjs/src/index.d.ts';
import type * as AdminApp from '../functions/node_modules/firebase-admin/lib/app/index.d.ts';
import type * as DocumentTriggers from '../functions/node_modules/firebase-functions/lib/v2/providers/firestore.d.ts';
import type * as HttpsTriggers from '../functions/node_modules/firebase-functions/lib/v2/providers/https.d.ts';
import type * as ScheduleTriggers from '../functions/node_modules/firebase-functions/lib/v2/providers/scheduler.d.ts';
import type * as TaskTriggers from '../functions/node_modules/firebase-functions/lib/v2/providers/tasks.d.ts';
import type * as JsonSchema from '../functions/node_modules/@cfworker/json-schema/dist/esm/index.d.ts';
import type * as SendGrid from '../functions/node_modules/@sendgrid/mail/index.d.ts';
import type * as OpenAIPackage from '../functions/node_modules/openai/index.d.ts';
import type * as GoogleAuth from '../functions/node_modules/google-auth-library/build/src/index.d.ts';

/**
 * The packages that the deployed functions use are installed in `functions/` only, which has its own lockfile. Tests that
 * exercise the real clients take them from there, so that they test the very copy that is deployed.
 */
const fromFunctions = createRequire(new URL('../functions/package.json', import.meta.url));

/** `@sendgrid/mail` is a ready-made service; the class is there too, which its types do not say. */
export type MailService = typeof SendGrid.default;
export type SendGridModule = MailService & { readonly MailService: new () => MailService };
export interface ExpressRequest extends IncomingMessage {
  body?: unknown;
  rawBody?: Buffer;
}
export interface ExpressApp {
  (request: IncomingMessage, response: ServerResponse): void;
  use(path: string, handler: (request: ExpressRequest, response: ServerResponse, next: (error?: unknown) => void) => unknown): void;
  disable(setting: string): void;
}
export type ExpressModule = () => ExpressApp;

export type Firestore = AdminFirestore.Firestore;

/** The Firestore client as firebase-admin hands it out. */
export function firestorePackage(): typeof AdminFirestore {
  return fromFunctions('firebase-admin/firestore') as typeof AdminFirestore;
}

export function adminAppPackage(): typeof AdminApp {
  return fromFunctions('firebase-admin/app') as typeof AdminApp;
}

/** The trigger builders that a functions module exports its functions with. */
export function triggersPackage(): {
  readonly documents: typeof DocumentTriggers;
  readonly https: typeof HttpsTriggers;
  readonly schedules: typeof ScheduleTriggers;
  readonly tasks: typeof TaskTriggers;
} {
  return {
    documents: fromFunctions('firebase-functions/v2/firestore') as typeof DocumentTriggers,
    https: fromFunctions('firebase-functions/v2/https') as typeof HttpsTriggers,
    schedules: fromFunctions('firebase-functions/v2/scheduler') as typeof ScheduleTriggers,
    tasks: fromFunctions('firebase-functions/v2/tasks') as typeof TaskTriggers,
  };
}

/** The HTTP framework that firebase-functions brings along and hands requests and responses of. */
export function expressPackage(): ExpressModule {
  const fromFirebase = createRequire(fromFunctions.resolve('firebase-functions'));
  return fromFirebase('express') as ExpressModule;
}

export function tasksPackage(): typeof TasksPackage {
  return fromFunctions('@google-cloud/tasks') as typeof TasksPackage;
}

export function mailPackage(): SendGridModule {
  return fromFunctions('@sendgrid/mail') as SendGridModule;
}

export function openaiPackage(): typeof OpenAIPackage {
  return fromFunctions('openai') as typeof OpenAIPackage;
}

export function jsonSchemaPackage(): typeof JsonSchema {
  return fromFunctions('@cfworker/json-schema') as typeof JsonSchema;
}

export function googleAuthPackage(): typeof GoogleAuth {
  return fromFunctions('google-auth-library') as typeof GoogleAuth;
}
