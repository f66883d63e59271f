import type { Answer, Body, PathIds } from '../contract/operation.ts';
import type { OperationId, operations } from '../contract/operations.ts';
import type { Database } from './database.ts';

type Row<Id extends OperationId> = (typeof operations)[Id];

/** The caller: null (anonymous) is possible if the operation's auth headers are optional or none. */
type Caller<Auth> = Auth extends 'required' ? string : Auth extends 'optional' ? string | null : null;

/** A request that has passed the checks which all operations share. */
export interface Call<Id extends OperationId> {
  /** The path's ids, percent-decoded. */
  readonly ids: PathIds<Row<Id>>;
  readonly body: Body<Row<Id>>;
  readonly caller: Caller<Row<Id>['auth']>;
  readonly database: Database;
  /** When it came, as an ISO 8601 text. */
  readonly at: string;
}

/**
 * What the bank does for one operation: the answer without its envelope. It is synchronous, and runs in one database
 * transaction unless the operation is a read.
 * Errors: HttpError.
 */
export type Handler<Id extends OperationId> = (call: Call<Id>) => Answer<Row<Id>>;
