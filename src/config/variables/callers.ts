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
    description: "the operator's subscription key, used for every caller",
  },
  IDENTITY: {
    ...optional({
      schema: oneOf(['headers', 'jwt'], 'headers').schema,
    }),
    description:
      'how callers are identified: `jwt`, by a verified bearer token ([how](hardening.md#identity)); `headers`, by a trusted proxy that sets the auth headers. Required with `BANK_SUBSCRIPTION_KEY` unless `HOST` is loopback',
  },
  IDENTITY_JWKS_URL: {
    ...optional(keysAddress, 'none; required with `jwt`, like the next two'),
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
    rarely: 'the issuer signs with other algorithms, or you allow fewer',
    ...optional(signatureAlgorithms, '`RS256 ES256 PS256 EdDSA`'),
    description: 'the signatures that are accepted',
  },
  IDENTITY_PROVIDER_CLAIM: {
    rarely: 'another claim names the provider',
    ...optional(anyText, '`iss`'),
    description: 'the claim that becomes `Auth-Provider-Name`',
  },
  IDENTITY_AUTH_ID_CLAIM: {
    rarely: 'another claim names the customer',
    ...optional(anyText, '`sub`'),
    description: 'the claim that becomes `Auth-ID`',
  },
  VIEWER_CUSTOMER_ID: {
    ...optional(viewerTemplate, 'none; `{auth-id}` with the sandbox'),
    description:
      'the id of the customer who is logged in, for `viewer`; `{auth-id}` and `{provider}` are replaced by the credentials, and with `IDENTITY=jwt` `{claim:name}` by a claim of the token',
  },
  VIEWER_ACCOUNT_ID: {
    ...optional(viewerTemplate, 'none; `{auth-id}-current` with the sandbox'),
    description: 'the id of the account that `viewer` shows first, in the same form',
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
      'a manifest of documents that clients may send by their ids ([how](hardening.md#persisted-documents))',
  },
  PERSISTED_ONLY: { ...flag(false), description: 'accept only documents of the manifest' },
} as const satisfies Record<string, Variable>;
