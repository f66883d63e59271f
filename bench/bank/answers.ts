import type { Auth } from '../../src/contract/operation.ts';
import { accountCounts, branchCounts } from '../shapes.ts';
import * as bank from './records.ts';

/**
 * The answer to one path, as two parts that are made once. Each answer has its own serial number between the
 * two parts.
 */
export type PreparedAnswer = ReturnType<typeof prepare>;

function prepare(operation: string, auth: Auth, record: unknown) {
  const body = JSON.stringify(record);
  const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  const [before = '', after, ...more] = (head + body).split(bank.serialMark);
  if (after === undefined || more.length > 0) throw new Error(`an answer of ${operation} has no one serial`);
  return {
    operation,
    auth,
    whole: Buffer.from(head + body),
    beforeSerial: Buffer.from(before),
    afterSerial: Buffer.from(after),
  };
}

/** The answers to all paths of the bank. */
export function prepareAnswers(): ReadonlyMap<string, PreparedAnswer> {
  const answers = new Map<string, PreparedAnswer>();
  const put = (path: string, operation: string, auth: Auth, record: unknown) =>
    answers.set(`/v1/api/banks/${path}`, prepare(operation, auth, record));
  const putAccount = (record: ReturnType<typeof bank.account>, index: number) => {
    const view = `${bank.bankId}/accounts/${record.id}/${bank.viewId}`;
    put(`${view}/views`, 'getAccountsScope', 'optional', { accounts: [record] });
    put(`${view}/other_accounts`, 'getOtherAccounts', 'required', {
      otherAccounts: bank.otherAccounts(index),
    });
    return view;
  };

  for (const count of branchCounts)
    put(`${bank.bankWith(count)}/branches`, 'getBranches', 'none', { branches: bank.branchList(count) });
  for (let index = 0; index < bank.customerCount; index++)
    put(`${bank.bankId}/customers/customer-${index}`, 'getCustomer', 'required', bank.customer(index));
  for (let index = 0; index < Math.max(...accountCounts); index++) putAccount(bank.account(index), index);

  const view = putAccount(bank.nestedAccount, 7);
  put(`${view}/transaction-requests`, 'getTransactionsRequest', 'optional', {
    'transaction-requests': bank.transactionRequests(),
  });
  for (const [index, id] of bank.transactionIds.entries())
    put(`${view}/transactions/${id}/transaction`, 'getTransaction', 'required', bank.transaction(id, index));
  return answers;
}
