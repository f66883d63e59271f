import type { Credentials } from '../bank/credentials.ts';
import { type CallInput, type PreparedCall, prepareCall } from '../bank/request.ts';
import type { Operation } from '../contract/operation.ts';
import { operations } from '../contract/operations.ts';
import { credentialOptions, type DoctorIds, type IdOption } from './options.ts';

/** An operation that changes nothing: the types prevent the doctor from calling any other. */
type ReadOperation = Operation & { readonly kind: 'read' };

/** One call that the doctor makes. */
export interface Check {
  readonly operation: ReadOperation;
  /** The request line, with placeholders for ids. */
  readonly request: string;
  /** The id that the record should have if it is the only entry of a list. */
  readonly only?: IdOption;
  /**
   * The call, ready to be sent; or the missing options.
   * Errors: BankqlError BAD_USER_INPUT (an invalid id).
   */
  prepare(prefix: string, ids: DoctorIds, credentials: Credentials): PreparedCall | readonly string[];
}

function check<T extends ReadOperation>(
  operation: T,
  input: (id: (option: IdOption) => string) => Omit<CallInput<T>, 'credentials'>,
): Check {
  const fixed = new Map<string, string>(Object.entries(input(() => '').ids));
  return {
    operation,
    request: `${operation.method} ${operation.path.replaceAll(/\{(\w+)\}/g, (name, key) => fixed.get(key) || name)}`,
    prepare(prefix, ids, credentials) {
      const missing: string[] = [];
      const content = input((option) => {
        const id = ids[option];
        if (id === undefined) missing.push(`--${option}`);
        return id ?? '';
      });
      if (operation.auth === 'required') {
        for (const option of ['auth-provider', 'auth-id'] as const) {
          if (credentials[credentialOptions[option].credential] === null) missing.push(`--${option}`);
        }
      }
      return missing.length > 0 ? missing : prepareCall(prefix, operation, { ...content, credentials });
    },
  };
}

type Id = (option: IdOption) => string;
const inBank = (id: Id) => ({ BANK_ID: id('bank-id') });
const inView = (id: Id) => ({ ...inBank(id), ACCOUNT_ID: id('account'), VIEW_ID: id('view') });

const accountList = (scope: string): Check =>
  check(operations.getAccountsScope, (id) => ({ ids: { ...inView(id), scope } }));

/**
 * A call of each read operation, including the POST queries; for the account list, one with each scope of the
 * specification and one with the scope for reading a single account (BANK_ACCOUNT_SCOPE).
 */
export const checksOf = (accountScope: string): readonly Check[] => [
  check(operations.getBranches, (id) => ({ ids: inBank(id) })),
  check(operations.postBranches, (id) => ({ ids: inBank(id), body: { id: id('branch') } })),
  check(operations.getProduct, (id) => ({ ids: { ...inBank(id), PRODUCT_ID: id('product') } })),
  check(operations.postProducts, (id) => ({ ids: inBank(id), body: { id: id('product') } })),
  check(operations.postMetadata, (id) => ({ ids: {}, body: { id: id('metadata') } })),
  check(operations.getCustomer, (id) => ({ ids: { ...inBank(id), CUSTOMER_ID: id('customer') } })),
  check(operations.getMessagesOwner, (id) => ({ ids: inBank(id) })),
  ...[...new Set([accountScope, 'views', 'permissions'])].map((scope) =>
    scope === accountScope ? { ...accountList(scope), only: 'account' as const } : accountList(scope),
  ),
  check(operations.getOtherAccounts, (id) => ({ ids: inView(id) })),
  check(operations.postOtherAccounts, (id) => ({ ids: inView(id), body: { IBAN: id('iban') } })),
  check(operations.getTransaction, (id) => ({
    ids: { ...inView(id), TRANSACTION_ID: id('transaction') },
  })),
  check(operations.getTransactionsRequest, (id) => ({ ids: inView(id) })),
];

/** The checks of the default configuration. */
export const checks = checksOf('views');
