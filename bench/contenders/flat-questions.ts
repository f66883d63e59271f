import { account, bankId, customerCount, nestedAccount, transactionIds, viewId } from '../bank/records.ts';
import type { Shape } from '../shapes.ts';

/**
 * The bench's queries for tools that make their schema from the REST interface: one root field for each operation, and
 * no way from a list of ids to their records. What bankql looks up on the way, the query names beforehand: the owners, the
 * transactions. That is a favour, for all calls can then be made at once.
 */

/** A query in a contender's own words, and how the data of its answer becomes that of the bench's query. */
export interface Question {
  readonly query: string;
  // biome-ignore lint/suspicious/noExplicitAny: it is what JSON.parse answers, in the shape of another's schema.
  readonly answerOf: (data: any) => unknown;
}

/** What a tool calls things. Each of the first six is the operation's name there. */
export interface Names {
  readonly branches: string;
  readonly customer: string;
  readonly account: string;
  readonly otherAccounts: string;
  readonly transactionRequests: string;
  readonly transaction: string;
  /** How it writes an argument's name, such as `ACCOUNT_ID`. */
  readonly argument: (name: string) => string;
  readonly legalName: string;
  readonly iban: string;
  /** The list in the answer of getTransactionsRequest. */
  readonly requestList: string;
}

// biome-ignore lint/suspicious/noExplicitAny: as above.
type Json = any;

const moneyOf = ({ amount, currency }: Json) => ({ amount: String(amount), currency });

export function flatQuestions(names: Names): (shape: Shape) => Question {
  const call = (operation: string, ids: Record<string, string>) =>
    `${operation}(${Object.entries(ids)
      .map(([name, id]) => `${names.argument(name)}: ${JSON.stringify(id)}`)
      .join(', ')})`;
  const inView = (id: string) => ({ ACCOUNT_ID: id, BANK_ID: bankId, VIEW_ID: viewId });
  const accountFields = (id: string) =>
    `${call(names.account, inView(id))} { accounts { label balance { amount currency } owners } }`;
  const otherFields = (id: string) =>
    `${call(names.otherAccounts, inView(id))} { otherAccounts { ${names.iban} holder { name } } }`;
  const customerFields = (id: string) =>
    `${call(names.customer, { BANK_ID: bankId, CUSTOMER_ID: id })} { ${names.legalName} }`;
  const counterpartyOf = (other: Json) => ({ iban: other[names.iban], holder: other.holder });
  const ownersOf = ({ owners }: Json, data: Json) =>
    owners.map((id: string) => ({ legalName: data[id.replace('-', '_')][names.legalName] }));

  const questions: Readonly<Record<string, (size: number) => Question>> = {
    q1: () => ({
      query: `{ ${call(names.branches, { BANK_ID: bankId })} { branches { id name address { city } } } }`,
      answerOf: (data) => ({
        bank: {
          branches: {
            nodes: data[names.branches].branches.map(({ id, ...rest }: Json) => ({ branchId: id, ...rest })),
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
          `t${index}: ${call(names.transaction, { ...ids, TRANSACTION_ID: id })} { id details { value { amount } } }`,
      );
      return {
        query: `{ a: ${accountFields(nestedAccount.id)} o: ${otherFields(nestedAccount.id)} customer_0: ${customerFields('customer-0')}
  r: ${call(names.transactionRequests, ids)} { ${names.requestList} { status } } ${transactionFields.join(' ')} }`,
        answerOf: (data) => {
          const [record] = data.a.accounts;
          const others = data.o.otherAccounts;
          const requests = data.r[names.requestList].slice(0, 1);
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
  return ({ name, size }) => {
    const question = questions[name];
    if (question === undefined) throw new Error(`nobody has said what ${name} is here`);
    return question(Number(size));
  };
}
