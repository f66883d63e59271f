import { type CallInput, type PreparedCall, prepareCall } from '../bank/call.ts';
import type { Credentials } from '../bank/credentials.ts';
import type { Operation } from '../contract/operation.ts';
import { operations } from '../contract/operations.ts';
import { credentialOptions, type DoctorIds, type IdOption } from './options.ts';

/** An operation that changes nothing: the doctor has no way to call another. */
type ReadOperation = Operation & { readonly kind: 'read' };

/** One call that the doctor makes. */
export interface Examination {
  readonly operation: ReadOperation;
  /** The request line, with the names of its ids. */
  readonly request: string;
  /**
   * The call, ready to leave; or the options without which it cannot be made.
   * Errors: BankqlError BAD_USER_INPUT (an id).
   */
  prepare(prefix: string, ids: DoctorIds, credentials: Credentials): PreparedCall | readonly string[];
}

function examination<T extends ReadOperation>(
  operation: T,
  input: (id: (option: IdOption) => string) => Omit<CallInput<T>, 'credentials'>,
): Examination {
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

/** A call of each read operation, the POST queries included; of the account list, one for each scope. */
export const examinations: readonly Examination[] = [
  examination(operations.getBranches, (id) => ({ ids: inBank(id) })),
  examination(operations.postBranches, (id) => ({ ids: inBank(id), body: { id: id('branch') } })),
  examination(operations.getProduct, (id) => ({ ids: { ...inBank(id), PRODUCT_ID: id('product') } })),
  examination(operations.postProducts, (id) => ({ ids: inBank(id), body: { id: id('product') } })),
  examination(operations.postMetadata, (id) => ({ ids: {}, body: { id: id('metadata') } })),
  examination(operations.getCustomer, (id) => ({ ids: { ...inBank(id), CUSTOMER_ID: id('customer') } })),
  examination(operations.getMessagesOwner, (id) => ({ ids: inBank(id) })),
  examination(operations.getAccountsScope, (id) => ({ ids: { ...inView(id), scope: 'views' } })),
  examination(operations.getAccountsScope, (id) => ({ ids: { ...inView(id), scope: 'permissions' } })),
  examination(operations.getOtherAccounts, (id) => ({ ids: inView(id) })),
  examination(operations.postOtherAccounts, (id) => ({ ids: inView(id), body: { IBAN: id('iban') } })),
  examination(operations.getTransaction, (id) => ({
    ids: { ...inView(id), TRANSACTION_ID: id('transaction') },
  })),
  examination(operations.getTransactionsRequest, (id) => ({ ids: inView(id) })),
];
