import { startCloudTasks, type CloudTasksServer } from './cloud-tasks/server.ts';
import type { CloudTasksOptions } from './cloud-tasks/cloud-tasks.ts';
import { startDevModel, type DevModelServer } from './dev-model/server.ts';
import { startMailSink, type MailSinkServer } from './mail-sink/server.ts';

export { startCloudTasks, startDevModel, startMailSink };
export type { CloudTasksServer, CloudTasksOptions, DevModelServer, MailSinkServer };

/** The ports that `npm start` and the docs name. */
export const pinnedPorts = { tasks: 9499, model: 9498, mail: 9497 } as const;

export interface ServicesOptions {
  /** 0 takes a free port; without ports all are free ones. */
  readonly ports?: { readonly tasks?: number; readonly model?: number; readonly mail?: number };
  readonly tasks?: CloudTasksOptions;
  readonly model?: { readonly latencyMs?: number };
}

export interface Services {
  readonly tasks: CloudTasksServer;
  readonly model: DevModelServer;
  readonly mail: MailSinkServer;
  /** What the functions need in their environment to reach these services. */
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** Starts the three services; when one cannot start, none is left behind. */
export async function startServices(options: ServicesOptions = {}): Promise<Services> {
  const { ports = {} } = options;
  const started: { close(): Promise<void> }[] = [];
  const keep = <T extends { close(): Promise<void> }>(service: T): T => {
    started.push(service);
    return service;
  };
  try {
    const tasks = keep(await startCloudTasks({ ...options.tasks, port: ports.tasks ?? 0 }));
    const model = keep(await startDevModel({ ...options.model, port: ports.model ?? 0 }));
    const mail = keep(await startMailSink({ port: ports.mail ?? 0 }));
    return {
      tasks,
      model,
      mail,
      env: {
        CLOUD_TASKS_EMULATOR_HOST: tasks.host,
        // The Functions emulator overwrites the first name with its own double, which knows neither /v2 nor schedule times.
        KILN_TASKS_HOST: tasks.host,
        OPENAI_BASE_URL: model.url,
        OPENAI_API_KEY: 'kiln-dev-key',
        KILN_DEFAULT_MODEL: 'kiln-dev-model',
        KILN_EMBEDDING_MODEL: 'kiln-dev-model',
        SENDGRID_API_KEY: 'SG.kiln-dev-key',
        KILN_MAIL_BASE_URL: mail.url,
        KILN_MAIL_FROM: 'kiln@example.com',
      },
      close: async () => {
        await Promise.all(started.map((service) => service.close()));
      },
    };
  } catch (error) {
    await Promise.all(started.map((service) => service.close()));
    throw error;
  }
}
