import { accountCounts, branchCounts } from '../shapes.ts';
import {
  account,
  bankId,
  bankWith,
  branchList,
  customer,
  customerCount,
  nestedAccount,
  otherAccounts,
  serialMark,
  transaction,
  transactionIds,
  transactionRequests,
  viewId,
} from './records.ts';

/** Whether an operation takes the auth headers besides the subscription key. */
export type Auth = 'required' | 'optional' | 'none';

/** The answer to one path, made once: the bytes around the serial that may be written anew. */
export interface PreparedAnswer {
  readonly operation: string;
  readonly auth: Auth;
  readonly whole: Buffer;
  readonly beforeSerial: Buffer;
  readonly afterSerial: Buffer;
}

function prepare(operation: string, auth: Auth, record: unknown): PreparedAnswer {
  const body = JSON.stringify(record);
  const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  const [before = '', after, ...more] = (head + body).split(serialMark);
  if (after === undefined || more.length > 0) throw new Error(`an answer of ${operation} has no one serial`);
  return {
    operation,
    auth,
    whole: Buffer.from(head + body),
    beforeSerial: Buffer.from(before),
    afterSerial: Buffer.from(after),
  };
}

/** Every path that the bank knows. */
export function prepareAnswers(): ReadonlyMap<string, PreparedAnswer> {
  const answers = new Map<string, PreparedAnswer>();
  const put = (path: string, operation: string, auth: Auth, record: unknown) =>
    answers.set(`/v1/api/banks/${path}`, prepare(operation, auth, record));
  const putAccount = (record: ReturnType<typeof account>, index: number) => {
    const view = `${bankId}/accounts/${record.id}/${viewId}`;
    put(`${view}/views`, 'getAccountsScope', 'optional', { accounts: [record] });
    put(`${view}/other_accounts`, 'getOtherAccounts', 'required', { otherAccounts: otherAccounts(index) });
    return view;
  };

  for (const count of branchCounts)
    put(`${bankWith(count)}/branches`, 'getBranches', 'none', { branches: branchList(count) });
  for (let index = 0; index < customerCount; index++)
    put(`${bankId}/customers/customer-${index}`, 'getCustomer', 'required', customer(index));
  for (let index = 0; index < Math.max(...accountCounts); index++) putAccount(account(index), index);

  const view = putAccount(nestedAccount, 7);
  put(`${view}/transaction-requests`, 'getTransactionsRequest', 'optional', {
    'transaction-requests': transactionRequests(),
  });
  for (const [index, id] of transactionIds.entries())
    put(`${view}/transactions/${id}/transaction`, 'getTransaction', 'required', transaction(id, index));
  return answers;
}
