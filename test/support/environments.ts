/** The variables of a bankql with a real bank, and of one that identifies callers by tokens. */

export type Given = Readonly<Record<string, string>>;

export const real = { BANK_BASE_URL: 'https://bank.example', STATE_URL: 'memory:' };

export const tokens = {
  IDENTITY: 'jwt',
  BANK_SUBSCRIPTION_KEY: 'key-of-the-operator',
  IDENTITY_JWKS_URL: 'https://login.example/jwks.json',
  IDENTITY_ISSUER: 'https://login.example/',
  IDENTITY_AUDIENCE: 'bankql',
};
