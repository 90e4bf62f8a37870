import type { Request } from './client.ts';

export interface Case {
  readonly name: string;
  readonly as: string | null;
  readonly request: Request;
  readonly allow: boolean;
}
