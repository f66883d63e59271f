import { authProvider, bankId, subscriptionKey } from './identity.ts';

/** A caller, and one seeded record of each sort that this caller may read. */
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
