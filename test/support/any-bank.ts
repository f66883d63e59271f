import { exact } from './bankql-fixture.ts';
import type { RecordedCall, Reply } from './recording-bank.ts';
import { requested } from './requested.ts';

/** Makes an answer from the ids of the path, in their order. */
type Make = (...ids: string[]) => object;

const answers: readonly (readonly [RegExp, Make])[] = [
  [
    /^GET .*\/accounts\/([^/]+)\/([^/]+)\/(?:views|permissions)$/,
    (id, view) => ({
      accounts: [
        {
          balance: { currency: 'EUR', amount: exact('1.00') },
          id,
          label: `${id} as ${view}`,
          owners: ['O1', 'O2'],
        },
      ],
    }),
  ],
  [/\/other_accounts$/, () => ({ otherAccounts: [{ bank: 'B', id: 'OTHER', kind: 'kind' }] })],
  [
    /\/accounts\/([^/]+)\/.*transaction-requests$/,
    (id) => ({
      'transaction-requests': [
        {
          status: 'COMPLETED',
          transaction_ids: 'T1',
          from: { account_id: id },
          body: { to: { account_id: 'TO' } },
        },
      ],
    }),
  ],
  [
    /\/accounts\/([^/]+)\/.*\/transactions\/([^/]+)\/(?:transaction$|metadata\/)/,
    (account, id) => ({
      uuid: `uuid of ${id}`,
      this_account: account,
      other_account: 'OTHER',
      details: { approved_by_ip_address: 'ip' },
    }),
  ],
  [/\/customers\/([^/]+)$/, (id) => ({ legal_name: `name of ${id}`, bank_id: ['BANK', 'B2'] })],
  [/^PUT .*\/branches\/([^/]+)$/, (id) => ({ acceptsDeposits: true, id, name: `name of ${id}` })],
  [
    /\/branches$/,
    () => ({
      branches: [
        {
          acceptsDeposits: true,
          id: 'BRANCH',
          name: 'name of BRANCH',
          address: { city: 'city' },
          location: { latitude: 1.5 },
        },
      ],
    }),
  ],
  [/^GET .*\/products\/([^/]+)$/, (id) => ({ id, name: `name of ${id}` })],
  [/^PUT .*\/products$/, () => ({ id: 'PRODUCT', name: 'name of PRODUCT' })],
  [/^POST .*\/products$/, () => ({ product: [{ id: 'PRODUCT', name: 'name of PRODUCT' }] })],
  [/^PUT .*\/messages$/, () => ({ message: 'message' })],
  [/\/messages$/, () => ({ messages: [{ message: 'message' }] })],
  [/\/metadata$/, () => ({ metadata: [{ code: 'code', id: 'METADATA' }] })],
  [/\/make-transaction$/, () => ({ id: 'T1', status: 'DONE' })],
  [/^PUT .*\/accounts\/[^/]+$/, () => ({ balance: {} })],
];

/**
 * An answer for every operation of the bank: there is a record for every id, and each list has one entry. An account has the
 * owners O1 and O2, a transaction the counterparty OTHER, a request the transaction T1. The answer to a PUT is the written
 * record.
 */
export function anyAnswer({ method, path, body }: RecordedCall): Reply {
  const line = `${method} ${path}`;
  const [, payer] = /^PUT .*\/accounts\/([^/]+)\/.*\/transaction-requests$/.exec(line) ?? [];
  // The answer to a payment contains only the contract's list, with an entry that repeats the payment.
  if (payer !== undefined)
    return {
      body: requested({ body }, { status: 'COMPLETED', transaction_ids: 'T1', from: { account_id: payer } }),
    };
  for (const [pattern, make] of answers) {
    const found = pattern.exec(line);
    if (found === null) continue;
    const written: object = method === 'PUT' ? JSON.parse(body) : {};
    return { body: { ...make(...found.slice(1)), ...written } };
  }
  return { status: 404, body: `test/support/any-bank.ts has no answer to ${line}` };
}
