/** The bank's code: the one `{BANK_ID}` that the sandbox knows. */
export const bankId = 'SNDBCY2N';

/** The one subscription key. */
export const subscriptionKey = 'sandbox-key';

/** The one `Auth-Provider-Name`. */
export const authProvider = 'sandbox';

/** The `Auth-ID`s of that provider; each is the id of the customer who calls. */
export const callers: readonly string[] = ['alice', 'bob'];
