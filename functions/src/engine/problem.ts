import type { ErrorCode } from '../model/errors.ts';

/** Something wrong in a definition, an input or a schema. `path` is a JSON pointer into what was checked (`''` is the whole). */
export interface Problem {
  path: string;
  code: ErrorCode;
  message: string;
}
