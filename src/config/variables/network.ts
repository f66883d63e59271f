import { proxyAddress } from '../address-formats.ts';
import { anyText, optional, wholeNumber } from '../formats.ts';
import type { Variable } from '../variable.ts';

/** The way to the bank. */
export const networkVariables = {
  BANK_TLS_CERT: {
    ...optional(anyText),
    description:
      'a file with the client certificate that the bank is shown, in PEM, with those between it and its authority; read at the start, on SIGHUP, and when it changes, as the next two',
  },
  BANK_TLS_KEY: {
    ...optional(anyText),
    description: 'a file with its private key, in PEM, without a passphrase',
  },
  BANK_TLS_CA: {
    ...optional(anyText, "none: Node's"),
    description:
      "a file with the authorities that may vouch for the bank's certificate, in PEM; no others may then",
  },
  BANK_PROXY: {
    ...optional(proxyAddress),
    description:
      'the proxy through which the bank is reached, with credentials where it wants some: `http://proxy.example:3128`; and the keys of `IDENTITY_JWKS_URL`, unless `NO_PROXY` names their host',
  },
  HTTPS_PROXY: {
    ...optional(proxyAddress),
    alias: 'https_proxy',
    description: 'the same for whatever is https, unless `NO_PROXY` names its host; `https_proxy` too',
  },
  NO_PROXY: {
    ...optional(anyText),
    alias: 'no_proxy',
    description:
      'what is reached without `HTTPS_PROXY`: names with all below them, addresses, `*.name`, `name:port` or `*`, separated by commas; `no_proxy` too',
  },
  BANK_CONNECTION_MAX_AGE_MS: {
    ...wholeNumber(60_000, 0, 86_400_000),
    description:
      "from when on a kept connection to the bank is opened anew before it is used again, so that a change of the name's addresses is followed; 0 for never",
  },
} as const satisfies Record<string, Variable>;
