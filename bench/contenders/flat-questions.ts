import { account, bankId, customerCount, nestedAccount, transactionIds, viewId } from '../bank/records.ts';
import type { Shape } from '../shapes.ts';

/**
 * The bench's queries for a schema that is made from the REST interface: one root field for each operation, and no way from a list
 * of ids to their records. The query names the owners and transactions beforehand, so that all calls can be made at once.
 */

/** A query in a contender's own words, and how the data of its answer becomes that of the bench's query. */
export interface Question {
  readonly query: string;
  // biome-ignore lint/suspicious/noExplicitAny: it is what JSON.parse answers, in the shape of another's schema.
  readonly answerOf: (data: any) => unknown;
}

// biome-ignore lint/suspicious/noExplicitAny: as above.
type Json = any;

const moneyOf = ({ amount, currency }: Json) => ({ amount: String(amount), currency });

export function flatQuestions({ name, size }: Shape): Question {
  const call = (operation: string, ids: Record<string, string>) =>
    `${operation}(${Object.entries(ids)
      .map(([argument, id]) => `${argument}: ${JSON.stringify(id)}`)
      .join(', ')})`;
  const inView = (id: string) => ({ ACCOUNT_ID: id, BANK_ID: bankId, VIEW_ID: viewId });
  const accountFields = (id: string) =>
    `${call('getAccountsScope', inView(id))} { accounts { label balance { amount currency } owners } }`;
  const otherFields = (id: string) =>
    `${call('getOtherAccounts', inView(id))} { otherAccounts { IBAN holder { name } } }`;
  const customerFields = (id: string) =>
    `${call('getCustomer', { BANK_ID: bankId, CUSTOMER_ID: id })} { legal_name }`;
  const counterpartyOf = (other: Json) => ({ iban: other.IBAN, holder: other.holder });
  const ownersOf = ({ owners }: Json, data: Json) =>
    owners.map((id: string) => ({ legalName: data[id.replace('-', '_')].legal_name }));

  const questions: Readonly<Record<string, (size: number) => Question>> = {
    q1: () => ({
      query: `{ ${call('getBranches', { BANK_ID: bankId })} { branches { id name address { city } } } }`,
      answerOf: (data) => ({
        bank: {
          branches: {
            nodes: data.getBranches.branches.map(({ id, ...rest }: Json) => ({ branchId: id, ...rest })),
          },
        },
      }),
    }),

    q2: (size) => {
      const indexes = Array.from({ length: size }, (_, index) => index);
      const owners = Array.from({ length: customerCount }, (_, index) => `customer_${index}`);
      return {
        query: `{ ${indexes
          .map(
            (index) =>
              `a${index}: ${accountFields(account(index).id)} o${index}: ${otherFields(account(index).id)}`,
          )
          .join(
            ' ',
          )} ${owners.map((alias) => `${alias}: ${customerFields(alias.replace('_', '-'))}`).join(' ')} }`,
        answerOf: (data) => ({
          bank: Object.fromEntries(
            indexes.map((index) => {
              const [record] = data[`a${index}`].accounts;
              const { label, balance } = record;
              const nodes = data[`o${index}`].otherAccounts.map(counterpartyOf);
              const answer = {
                label,
                balance: moneyOf(balance),
                owners: ownersOf(record, data),
                otherAccounts: { nodes },
              };
              return [`a${index}`, answer];
            }),
          ),
        }),
      };
    },

    q3: () => ({ query: '{ __typename }', answerOf: (data) => data }),

    q4: () => {
      const ids = inView(nestedAccount.id);
      const transactionFields = transactionIds.map(
        (id, index) =>
          `t${index}: ${call('getTransaction', { ...ids, TRANSACTION_ID: id })} { id details { value { amount } } }`,
      );
      return {
        query: `{ a: ${accountFields(nestedAccount.id)} o: ${otherFields(nestedAccount.id)} customer_0: ${customerFields('customer-0')}
  r: ${call('getTransactionsRequest', ids)} { transaction_requests { status } } ${transactionFields.join(' ')} }`,
        answerOf: (data) => {
          const [record] = data.a.accounts;
          const others = data.o.otherAccounts;
          const requests = data.r.transaction_requests.slice(0, 1);
          const transactions = transactionIds.map((_id, index) => {
            const { id, details } = data[`t${index}`];
            return { transactionId: id, details: { value: { amount: String(details.value.amount) } } };
          });
          return {
            bank: {
              account: {
                label: record.label,
                balance: moneyOf(record.balance),
                owners: ownersOf(record, data),
                otherAccounts: { totalCount: others.length, nodes: others.slice(0, 1).map(counterpartyOf) },
                transactionRequests: {
                  nodes: requests.map(({ status }: Json) => ({ status, transactions })),
                },
              },
            },
          };
        },
      };
    },
  };
  const question = questions[name];
  if (question === undefined) throw new Error(`nobody has said what ${name} is here`);
  return question(Number(size));
}
