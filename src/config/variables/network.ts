import { proxyAddress } from '../address-formats.ts';
import { anyText, optional, wholeNumber } from '../formats.ts';
import type { Variable } from '../variable.ts';

/** The way to the bank. */
export const networkVariables = {
  BANK_TLS_CERT: {
    ...optional(anyText),
    description:
      'a PEM file with the client certificate for the bank and its chain; read at the start, on SIGHUP and when it changes, like the next two',
  },
  BANK_TLS_KEY: {
    ...optional(anyText),
    description: 'a PEM file with its private key, without a passphrase',
  },
  BANK_TLS_CA: {
    ...optional(anyText, "none: Node's"),
    description:
      "a PEM file with the authorities that are trusted for the bank's certificate, instead of Node's",
  },
  BANK_PROXY: {
    ...optional(proxyAddress),
    description:
      'the proxy to the bank, such as `http://user:password@proxy.example:3128`; also to `IDENTITY_JWKS_URL`, unless `NO_PROXY` names its host',
  },
  HTTPS_PROXY: {
    rarely: 'your environment sets it for every program; otherwise use `BANK_PROXY`',
    ...optional(proxyAddress),
    alias: 'https_proxy',
    description: 'the proxy for https, unless `NO_PROXY` names the host; `https_proxy` too',
  },
  NO_PROXY: {
    rarely: 'a host must be reached without the proxy',
    ...optional(anyText),
    alias: 'no_proxy',
    description:
      'hosts that are reached without a proxy: names (with their subdomains), addresses, `*.name`, `name:port` or `*`, separated by commas; `no_proxy` too',
  },
  BANK_CONNECTION_MAX_AGE_MS: {
    rarely: "the bank's addresses change more often, or never",
    ...wholeNumber(60_000, 0, 86_400_000),
    description:
      "the maximum age of a pooled connection to the bank, so that bankql follows changes of the bank's addresses; 0 for no maximum",
  },
} as const satisfies Record<string, Variable>;
