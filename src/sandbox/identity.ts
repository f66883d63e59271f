/** The address to listen on, which only this machine can reach. */
export const sandboxHost = '127.0.0.1';

/** The bank's code, which is the only `{BANK_ID}` that the sandbox accepts. */
export const bankId = 'SNDBCY2N';

export const subscriptionKey = 'sandbox-key';

/** The only `Auth-Provider-Name`; its `Auth-ID`s are the ids of the customers. */
export const authProvider = 'sandbox';

/** The `Auth-ID` of the bank's staff, who may do what customers may not: set balances, write messages. */
export const staffId = 'staff';

/** The customers, who can all log in. */
export const callers: readonly string[] = ['alice', 'bob', 'carol', 'yuki', 'omar'];

/** A caller, and one seeded record of each kind that this caller may read. */
export const example = {
  ids: {
    'bank-id': bankId,
    account: 'alice-current',
    view: 'owner',
    transaction: 'tx-0001',
    customer: 'alice',
    product: 'current-plus',
    branch: 'nicosia-main',
    iban: 'GR1601101250000000012300695',
    metadata: 'languages',
  },
  credentials: { subscriptionKey, authProviderName: authProvider, authId: 'alice' },
} as const;
