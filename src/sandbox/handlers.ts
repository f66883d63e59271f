import type { Answer, Body, PathIds } from '../contract/operation.ts';
import type { OperationId, operations } from '../contract/operations.ts';
import type { Database } from './database.ts';
import { accountHandlers } from './records/account.ts';
import { branchHandlers } from './records/branch.ts';
import { customerHandlers } from './records/customer.ts';
import { messageHandlers } from './records/message.ts';
import { metadataHandlers } from './records/metadata.ts';
import { otherAccountHandlers } from './records/other-account.ts';
import { productHandlers } from './records/product.ts';
import { transactionHandlers } from './records/transaction.ts';
import { transactionRequestHandlers } from './records/transaction-request.ts';

type Row<Id extends OperationId> = (typeof operations)[Id];

/** The caller. It is null (anonymous) if the operation takes no auth headers, or if optional ones are missing. */
type Caller<Auth> = Auth extends 'required' ? string : Auth extends 'optional' ? string | null : null;

/** A request that has passed the checks which all operations share. */
interface Call<Id extends OperationId> {
  /** The path's ids, percent-decoded. */
  readonly ids: PathIds<Row<Id>>;
  readonly body: Body<Row<Id>>;
  readonly caller: Caller<Row<Id>['auth']>;
  readonly database: Database;
  /** The time of the request, as an ISO 8601 text. */
  readonly at: string;
}

/**
 * Implements one operation of the bank. Returns the answer without its envelope. Handlers are synchronous, so that no two run at
 * once, and refuse before they write. Errors: HttpError.
 */
type Handler<Id extends OperationId> = (call: Call<Id>) => Answer<Row<Id>>;

/** The handlers of a record's operations. */
export type Handlers<Ids extends OperationId> = { readonly [Id in Ids]: Handler<Id> };

/** The sandbox's handler of each operation. A missing one is a type error. */
export const handlers: Handlers<OperationId> = {
  ...accountHandlers,
  ...branchHandlers,
  ...customerHandlers,
  ...messageHandlers,
  ...metadataHandlers,
  ...otherAccountHandlers,
  ...productHandlers,
  ...transactionHandlers,
  ...transactionRequestHandlers,
};
