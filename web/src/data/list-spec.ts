/** Orders by the id of the document, to tell apart what was created in the same millisecond. */
export const ID_FIELD = '__name__';

type Operator = '==' | '<' | '<=' | '>' | '>=' | 'in' | 'array-contains';

/** A query as plain data. A limit is not optional: no listener is open-ended. */
export interface ListSpec {
  readonly path: string;
  /** Over all collections of that name. */
  readonly group?: boolean;
  readonly where?: readonly (readonly [field: string, op: Operator, value: unknown])[];
  readonly orderBy?: readonly (readonly [field: string, direction: 'asc' | 'desc'])[];
  readonly startAfter?: readonly unknown[];
  readonly limit: number;
}
