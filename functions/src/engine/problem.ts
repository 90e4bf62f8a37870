import type { ErrorCode } from '../model/errors.ts';

/**
 * Something wrong in a definition, an input or a schema. `path` says where, `''` is the whole: in a definition a JSON path
 * (`steps[2].prompt`), in a value, a schema or a configuration by itself a JSON pointer.
 */
export interface Problem {
  path: string;
  code: ErrorCode;
  message: string;
}
