import { prepareAnswers } from '../bank/answers.ts';
import { asked } from '../bank/openapi.ts';
import type { Json } from '../bank/records.ts';
import type { Shape } from '../shapes.ts';
import { answers } from './limit-answers.ts';

/**
 * The bench's queries for a schema that is generated from the REST interface: it has one root field for each operation, and no
 * field that leads from a list of ids to their records. The query contains the ids of owners and transactions, so that all calls
 * can be made at once.
 */

/** A query for a contender's schema, and a function that converts its answer to the data of the bench's query. */
export interface Question {
  readonly query: string;
  readonly answerOf: (data: Json) => Promise<unknown>;
}

/** The selection of each operation. */
const selections = {
  getBranches: 'branches { id name address { city } }',
  getCustomer: 'legal_name',
  getAccountsScope: 'accounts { id label balance { amount currency } owners }',
  getOtherAccounts: 'otherAccounts { IBAN holder { name } }',
  getTransactionsRequest: 'transaction_requests { status transaction_ids }',
  getTransaction: 'details { value { amount } }',
};

/** The root field that reads a path. */
function fieldFor(path: string): string {
  for (const { id, path: template } of asked) {
    const pattern = template.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)');
    const ids = new RegExp(`^${pattern}$`).exec(path)?.groups;
    if (ids === undefined) continue;
    const given = Object.entries(ids).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
    return `${id}(${given.join(', ')}) { ${selections[id]} }`;
  }
  throw new Error(`no operation reads ${path}`);
}

/** Runs the function of the contender `limit` once to find the paths that it reads, and again for each answer, to convert it. */
export async function flatQuestion({ query }: Shape): Promise<Question> {
  const answer = answers.get(query);
  if (answer === undefined) throw new Error(`the limit does not answer ${query}`);
  const bank = prepareAnswers();
  const aliases = new Map<string, string>();
  await answer(async (path) => {
    if (!aliases.has(path)) aliases.set(path, `call${aliases.size}`);
    return JSON.parse(bank.get(path)?.whole.toString().split('\r\n\r\n')[1] ?? '');
  });
  const fields = Array.from(aliases, ([path, alias]) => `${alias}: ${fieldFor(path)}`);
  return {
    query: fields.length === 0 ? query : `{ ${fields.join(' ')} }`,
    async answerOf(data) {
      if (fields.length === 0) return data;
      return answer(async (path) => {
        const { transaction_requests, ...record } = data[aliases.get(path) ?? ''];
        return transaction_requests === undefined ? record : { 'transaction-requests': transaction_requests };
      });
    },
  };
}
