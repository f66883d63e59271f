import { counterAddress, keysAddress } from '../address-formats.ts';
import {
  anyText,
  flag,
  oneOf,
  optional,
  rateLimit,
  signatureAlgorithms,
  subscriptionKey,
  viewerTemplate,
} from '../formats.ts';
import type { Variable } from '../variable.ts';

/** Who may call, and how often. */
export const callersVariables = {
  BANK_SUBSCRIPTION_KEY: {
    isSecret: true,
    ...optional(subscriptionKey),
    description: "the operator's subscription key; it stands for every caller's",
  },
  IDENTITY: {
    ...optional({
      schema: oneOf(['headers', 'jwt'], 'headers').schema,
    }),
    description:
      'who says who calls: `jwt`: a verified bearer token ([how](hardening.md#identity)); `headers`: a trusted proxy, which sets the auth headers. One of them is needed with `BANK_SUBSCRIPTION_KEY` off loopback',
  },
  IDENTITY_JWKS_URL: {
    ...optional(keysAddress, 'none; needed with `jwt`, as the next two'),
    description: "where the issuer's public keys are: https, or loopback",
  },
  IDENTITY_ISSUER: {
    ...optional(anyText),
    description: 'the `iss` that a token must have',
  },
  IDENTITY_AUDIENCE: {
    ...optional(anyText),
    description: 'the `aud` that it must have',
  },
  IDENTITY_ALGORITHMS: {
    ...optional(signatureAlgorithms, '`RS256 ES256 PS256 EdDSA`'),
    description: 'the signatures that are accepted',
  },
  IDENTITY_PROVIDER_CLAIM: {
    ...optional(anyText, '`iss`'),
    description: 'the claim that becomes `Auth-Provider-Name`',
  },
  IDENTITY_AUTH_ID_CLAIM: {
    ...optional(anyText, '`sub`'),
    description: 'the claim that becomes `Auth-ID`',
  },
  VIEWER_CUSTOMER_ID: {
    ...optional(viewerTemplate, 'none; `{auth-id}` with the sandbox'),
    description:
      'the customer who is logged in, for `viewer`: an id in which `{auth-id}` and `{provider}` stand for the credentials, and with `IDENTITY=jwt` `{claim:name}` for a claim of the token',
  },
  VIEWER_ACCOUNT_ID: {
    ...optional(viewerTemplate, 'none; `{auth-id}-current` with the sandbox'),
    description: 'the account that the login starts from, in the same way',
  },
  RATE_LIMIT: {
    ...optional(rateLimit),
    description:
      'the limit of REST calls for each caller: calls per seconds, such as `300/60` ([how](hardening.md#rate-limits))',
  },
  RATE_LIMIT_PER_KEY: {
    ...optional(rateLimit),
    description: 'the limit for all callers with one subscription key together',
  },
  RATE_LIMIT_URL: {
    isSecret: true,
    ...counterAddress,
    description:
      'where REST calls are counted: `memory:` (by this process, for all its workers), or `redis://…`, `rediss://…` or `postgres://…` to count them for several replicas together',
  },
  PERSISTED_DOCUMENTS: {
    ...optional(anyText),
    description:
      'a manifest of documents that may be asked for by their ids ([how](hardening.md#persisted-documents))',
  },
  PERSISTED_ONLY: { ...flag(false), description: 'serve nothing else' },
} as const satisfies Record<string, Variable>;
