import type { Values } from './variables.ts';

/** The proxy that HTTPS_PROXY and NO_PROXY say for an address; null for none. */
function usualProxyOf({ HTTPS_PROXY, NO_PROXY = '' }: Values, url: string): string | null {
  const isHttps = URL.parse(url)?.protocol === 'https:';
  return HTTPS_PROXY === undefined || !isHttps || bypassesProxy(NO_PROXY, url) ? null : HTTPS_PROXY;
}

/** The proxy through which the bank is reached; null for none, as for the sandbox bank. */
export function bankProxyOf(values: Values): string | null {
  const { BANK_BASE_URL, BANK_PROXY } = values;
  if (BANK_BASE_URL === undefined) return null;
  return BANK_PROXY ?? usualProxyOf(values, BANK_BASE_URL);
}

/** The proxy through which the keys of tokens are fetched; null for none. */
export function jwksProxyOf(values: Values, jwksUrl: string): string | null {
  const { BANK_PROXY = null, NO_PROXY = '' } = values;
  if (URL.parse(jwksUrl)?.protocol !== 'https:' || bypassesProxy(NO_PROXY, jwksUrl)) return null;
  return BANK_PROXY ?? usualProxyOf(values, jwksUrl);
}

interface Exception {
  readonly host: string;
  /** Null for any. */
  readonly port: string | null;
  /** Whether only names below the host are meant: `*.example.com`. */
  readonly onlyBelow: boolean;
}

const defaultPorts: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' };

const plainHost = (host: string) =>
  host
    .replace(/^\[(.+)\]$/, '$1')
    .replace(/(.)\.$/, '$1')
    .toLowerCase();

function exceptionOf(entry: string): Exception {
  // A bare address of IPv6 has several colons, and no port.
  const [, named, port] = /^([^:]+|\[.+\]):(\d+)$/.exec(entry) ?? [];
  const host = named ?? entry;
  return {
    host: plainHost(host.replace(/^\*?\./, '')),
    port: port ?? null,
    onlyBelow: host.startsWith('*.'),
  };
}

/**
 * Whether NO_PROXY lets a URL be reached directly: names and addresses separated by commas or white space, each with what
 * is below it; `*.name` for only what is below it, `name:port` for one port, `*` for everything.
 */
export function bypassesProxy(noProxy: string, url: string): boolean {
  const { protocol, hostname, port } = new URL(url);
  const host = plainHost(hostname);
  const ownPort = port || defaultPorts[protocol];
  return noProxy
    .split(/[,\s]+/)
    .filter((entry) => entry !== '')
    .map(exceptionOf)
    .some(
      (exception) =>
        (exception.port === null || exception.port === ownPort) &&
        (exception.host === '*' ||
          (!exception.onlyBelow && host === exception.host) ||
          host.endsWith(`.${exception.host}`)),
    );
}
